"""The patterns of `match`: whether a value is of a form, and the names that its parts get."""

# ruff: noqa: ARG005 - all functions of a table are called alike

import ast
from collections.abc import Callable, Sequence
from typing import Any

from cfeval.cvqa.programs.builtins import is_instance
from cfeval.cvqa.programs.expressions import evaluate
from cfeval.cvqa.programs.limits import ProgramFault
from cfeval.cvqa.programs.methods import attribute
from cfeval.cvqa.programs.objects import Class, Named
from cfeval.cvqa.programs.operators import equal
from cfeval.cvqa.programs.values import Frame, Native, key, kind


def matches(pattern: ast.pattern, value: Any, frame: Frame) -> bool:
    """Whether a value is of a pattern's form; names in it are stored as they are matched, as in Python."""
    frame.machine.meter.step()
    return _HANDLERS[type(pattern)](pattern, value, frame)


def _as(pattern: ast.MatchAs, value: object, frame: Frame) -> bool:
    if pattern.pattern is not None and not matches(pattern.pattern, value, frame):
        return False
    if pattern.name:
        frame.store(pattern.name, value)
    return True


def _sequence(pattern: ast.MatchSequence, value: Any, frame: Frame) -> bool:
    if not isinstance(value, list | tuple | range):
        return False
    patterns = pattern.patterns
    star = next((number for number, part in enumerate(patterns) if isinstance(part, ast.MatchStar)), None)
    if len(value) != len(patterns) if star is None else len(value) < len(patterns) - 1:
        return False
    items: list[object] = list(value)
    frame.machine.meter.step(1 + len(items) // 16)
    if star is None:
        return _all(patterns, items, frame)
    behind = len(items) - (len(patterns) - star - 1)
    rest, name = frame.machine.meter.keep(items[star:behind]), getattr(patterns[star], "name", None)
    if not _all([*patterns[:star], *patterns[star + 1 :]], [*items[:star], *items[behind:]], frame):
        return False
    if name:
        frame.store(name, rest)
    return True


def _all(patterns: Sequence[ast.pattern], items: Sequence[object], frame: Frame) -> bool:
    return all(matches(part, item, frame) for part, item in zip(patterns, items, strict=True))


def _mapping(pattern: ast.MatchMapping, value: object, frame: Frame) -> bool:
    if not isinstance(value, dict):
        return False
    names = [key(evaluate(part, frame), frame.machine.meter) for part in pattern.keys]
    if any(name not in value for name in names):
        return False
    if not _all(pattern.patterns, [value[name] for name in names], frame):
        return False
    if pattern.rest:
        frame.machine.meter.length(len(value))
        frame.store(pattern.rest, {name: item for name, item in value.items() if name not in names})
    return True


def _of_class(pattern: ast.MatchClass, value: object, frame: Frame) -> bool:
    cls: Any = evaluate(pattern.cls, frame)
    if not is_instance(value, cls):
        return False
    fields = cls.fields if isinstance(cls, Class) else value.cls.fields if isinstance(value, Named) else ()
    if pattern.patterns and isinstance(cls, Native) and not fields:  # `case str(text)` binds the value itself
        if len(pattern.patterns) > 1:
            raise ProgramFault(f"a pattern of {cls.name} takes one part", kind="TypeError")
        return matches(pattern.patterns[0], value, frame)
    if len(pattern.patterns) > len(fields):
        raise ProgramFault(f"a pattern of {kind(value)} takes fewer parts", kind="TypeError")
    named = [*fields[: len(pattern.patterns)], *pattern.kwd_attrs]
    for name, form in zip(named, [*pattern.patterns, *pattern.kwd_patterns], strict=True):
        try:
            part = attribute(value, name)
        except ProgramFault as fault:
            if fault.kind != "AttributeError":
                raise
            return False
        if not matches(form, part, frame):
            return False
    return True


_HANDLERS: dict[type[ast.pattern], Callable[[Any, Any, Frame], bool]] = {
    ast.MatchValue: lambda pattern, value, frame: equal(value, evaluate(pattern.value, frame), frame.machine.meter),
    ast.MatchSingleton: lambda pattern, value, frame: value is pattern.value,
    ast.MatchOr: lambda pattern, value, frame: any(matches(part, value, frame) for part in pattern.patterns),
    ast.MatchAs: _as,
    ast.MatchSequence: _sequence,
    ast.MatchMapping: _mapping,
    ast.MatchClass: _of_class,
}
