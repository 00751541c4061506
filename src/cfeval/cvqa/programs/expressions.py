"""Evaluating expressions and the patterns of `match`: a walk over the checked tree, a step for each node."""

# ruff: noqa: ARG005 - all functions of a table are called alike

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cfeval.cvqa.programs.builtins import call, is_instance
from cfeval.cvqa.programs.classes import set_member, super_of
from cfeval.cvqa.programs.limits import ProgramFault
from cfeval.cvqa.programs.methods import attribute
from cfeval.cvqa.programs.operators import binary, compare, equal, formatted, quoted, unary
from cfeval.cvqa.programs.standard_modules import part_of
from cfeval.cvqa.programs.values import (
    Class,
    Filled,
    Frame,
    Function,
    Instance,
    Lazy,
    Match,
    Members,
    Named,
    Native,
    Tally,
    collect,
    iterate,
    key,
    kind,
)


def evaluate(node: ast.expr, frame: Frame) -> Any:
    """The value of an expression in a frame."""
    frame.machine.meter.step()
    return _HANDLERS[type(node)](node, frame)


def _boolean(node: ast.BoolOp, frame: Frame) -> object:
    value: object = None
    for part in node.values:
        value = evaluate(part, frame)
        if bool(value) == isinstance(node.op, ast.Or):
            break
    return value


def _binary(node: ast.BinOp, frame: Frame) -> object:
    return binary(node.op, evaluate(node.left, frame), evaluate(node.right, frame), frame.machine.meter)


def _comparison(node: ast.Compare, frame: Frame) -> bool:
    left = evaluate(node.left, frame)
    for op, part in zip(node.ops, node.comparators, strict=True):
        right = evaluate(part, frame)
        if not compare(op, left, right, frame.machine.meter):
            return False
        left = right
    return True


def _items(nodes: Sequence[ast.expr], frame: Frame) -> list[object]:
    """The values of expressions; `*` puts in those of a list."""
    items: list[object] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            for item in iterate(evaluate(node.value, frame), frame.machine.meter):
                items.append(item)
                frame.machine.meter.grow(len(items))
        else:
            items.append(evaluate(node, frame))
    return items


def _walrus(node: ast.NamedExpr, frame: Frame) -> object:
    """`:=` gives a name of the function a value, also from within a comprehension, as in Python."""
    value = evaluate(node.value, frame)
    target = frame
    while target.comprehension and target.outer is not None:
        target = target.outer
    target.store(node.target.id, value)
    return value


def _set(node: ast.Set, frame: Frame) -> Members:
    meter = frame.machine.meter
    meter.length(len(node.elts))
    return Members([key(item, meter) for item in _items(node.elts, frame)])


def _dict(node: ast.Dict, frame: Frame) -> dict[object, object]:
    meter = frame.machine.meter
    items: dict[object, object] = {}
    for name, item in zip(node.keys, node.values, strict=True):
        if name is None:
            items |= _mapping(evaluate(item, frame), frame)
            meter.grow(len(items))
            continue
        items[key(evaluate(name, frame), meter)] = evaluate(item, frame)
        meter.grow(len(items))
    return items


def _subscript(node: ast.Subscript, frame: Frame) -> object:
    value = evaluate(node.value, frame)
    if isinstance(node.slice, ast.Slice):
        if not isinstance(value, list | tuple | str | range):
            raise ProgramFault(f"a value of type {kind(value)} has no slices", kind="TypeError")
        bounds = slice_of(node.slice, frame)
        frame.machine.meter.step(1 + len(value) // 64)
        return frame.machine.meter.keep(value[bounds])
    return item_of(value, evaluate(node.slice, frame), frame)


def item_of(value: Any, index: Any, frame: Frame) -> Any:
    """`value[index]`."""
    if isinstance(value, dict):
        return _of_key(value, key(index, frame.machine.meter), frame)
    if isinstance(value, Match):
        return part_of(value, index)
    if isinstance(value, Native) and value.type:
        return value  # a type with its parameters: `list[int]`
    if isinstance(value, Instance) and value.has("__getitem__"):
        return value.invoke("__getitem__", index)
    if isinstance(value, Class) and value.enumeration:
        return _of_key(value.members, index, frame)
    if not isinstance(value, list | tuple | str | range):
        raise ProgramFault(f"a value of type {kind(value)} has no items", kind="TypeError")
    if not isinstance(index, int):
        raise ProgramFault(f"an index is an integer, not {kind(index)}", kind="TypeError")
    return value[index]


def _of_key(value: dict[Any, Any], name: Any, frame: Frame) -> object:
    """An item of a dictionary, and what `Counter` and `defaultdict` have for one that is missing."""
    if name not in value and isinstance(value, Tally):
        return 0
    if name not in value and isinstance(value, Filled) and value.make is not None:
        value[name] = call(value.make, (), {}, frame.machine)
        frame.machine.meter.grow(len(value))
    return value[name]


def _mapping(value: object, frame: Frame) -> dict[Any, Any]:
    """A dictionary whose items are written out by `**`."""
    if not isinstance(value, dict):
        raise ProgramFault(f"`**` takes a dictionary, not {kind(value)}", kind="TypeError")
    frame.machine.meter.step(1 + len(value))
    return value


def slice_of(node: ast.Slice, frame: Frame) -> slice:
    """The slice `lower:upper:step`."""
    bounds = [None if part is None else evaluate(part, frame) for part in (node.lower, node.upper, node.step)]
    wrong = next((bound for bound in bounds if not isinstance(bound, int | None)), None)
    if wrong is not None:
        raise ProgramFault(f"a slice takes integers, not {kind(wrong)}", kind="TypeError")
    return slice(*bounds)


def _joined(node: ast.JoinedStr, frame: Frame) -> str:
    meter = frame.machine.meter
    pieces = [str(evaluate(part, frame)) for part in node.values]
    meter.text(sum(map(len, pieces)))
    return "".join(pieces)


def _formatted(node: ast.FormattedValue, frame: Frame) -> str:
    meter = frame.machine.meter
    value = evaluate(node.value, frame)
    if node.conversion in (ord("r"), ord("a")):
        value = quoted(value, meter)
    spec = "" if node.format_spec is None else str(evaluate(node.format_spec, frame))
    return formatted(value, spec, meter)


def _lambda(node: ast.Lambda, frame: Frame) -> Function:
    return defined("lambda", node.args, lambda inner: evaluate(node.body, inner), frame)


def defined(
    name: str,
    parameters: ast.arguments,
    body: Callable[[Frame], object],
    frame: Frame,
    local: frozenset[str] = frozenset(),
) -> Function:
    """A function that the program defines; its defaults are evaluated now, as in Python."""
    names = tuple(parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args))
    defaults = tuple([evaluate(default, frame) for default in parameters.defaults])
    only = tuple(parameter.arg for parameter in parameters.kwonlyargs)
    pairs = zip(only, parameters.kw_defaults, strict=True)
    by_name = tuple([(pair, evaluate(default, frame)) for pair, default in pairs if default is not None])
    rest = parameters.vararg.arg if parameters.vararg else ""
    named = parameters.kwarg.arg if parameters.kwarg else ""
    return Function(name, names, defaults, body, frame.methods or frame, local, rest, named, only, by_name)


def _call(node: ast.Call, frame: Frame) -> object:
    function = evaluate(node.func, frame)
    arguments = _items(node.args, frame)
    named: dict[str, object] = {}
    for keyword in node.keywords:
        value = evaluate(keyword.value, frame)
        named |= _mapping(value, frame) if keyword.arg is None else {keyword.arg: value}
    if not all(isinstance(name, str) for name in named):
        raise ProgramFault("the names of arguments are texts", kind="TypeError")
    frame.machine.line = node.lineno
    if function is SUPER and not arguments:
        # `super()` in a method: its class, and its first argument.
        method: Frame | None = frame
        while method is not None and (method.function is None or CLASS not in (method.outer or method).names):
            method = method.outer
        if method is None or method.function is None or method.outer is None or not method.function.names:
            raise ProgramFault("super() belongs in a method", kind="RuntimeError")
        return super_of(method.outer.names[CLASS], method.names[method.function.names[0]])
    return call(function, arguments, named, frame.machine)


# Where a frame around methods holds their class; no program can write this name.
CLASS = " class"


SUPER = Native("super", lambda machine, cls, instance, /: super_of(cls, instance))


def assign(target: ast.expr, value: Any, frame: Frame) -> None:
    """Bind a value to a name, an item of a container, or several of these at once."""
    meter = frame.machine.meter
    meter.step()
    if isinstance(target, ast.Name):
        frame.store(target.id, value)
    elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
        _set_slice(evaluate(target.value, frame), target.slice, value, frame)
    elif isinstance(target, ast.Subscript):
        container, index = evaluate(target.value, frame), evaluate(target.slice, frame)
        if isinstance(container, dict):
            container[key(index, frame.machine.meter)] = value
            frame.machine.meter.grow(len(container))
        elif isinstance(container, list) and isinstance(index, int):
            container[index] = value
        elif isinstance(container, Instance) and container.has("__setitem__"):
            container.invoke("__setitem__", index, value)
        else:
            raise ProgramFault(f"an item of {kind(container)} at {kind(index)} cannot be set", kind="TypeError")
    elif isinstance(target, ast.Attribute):
        set_member(evaluate(target.value, frame), target.attr, value, frame.machine)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(target.elts, list(iterate(value, meter)), frame)
    else:
        raise ProgramFault("only names, items and attributes can be assigned to")


def _unpack(targets: Sequence[ast.expr], items: list[object], frame: Frame) -> None:
    starred = next((number for number, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
    if starred is None and len(items) != len(targets):
        raise ProgramFault(f"{len(items)} values for {len(targets)} names", kind="ValueError")
    if starred is not None:
        behind = len(targets) - starred - 1
        if len(items) < len(targets) - 1:
            raise ProgramFault(f"{len(items)} values for at least {len(targets) - 1} names", kind="ValueError")
        rest = items[starred : len(items) - behind]
        items = [*items[:starred], frame.machine.meter.keep(rest), *items[len(items) - behind :]]
    for target, item in zip(targets, items, strict=True):
        assign(target.value if isinstance(target, ast.Starred) else target, item, frame)


def _set_slice(container: Any, node: ast.Slice, value: object, frame: Frame) -> None:
    meter = frame.machine.meter
    if not isinstance(container, list):
        raise ProgramFault(f"a slice of {kind(container)} cannot be set", kind="TypeError")
    items = collect(value, meter)
    meter.length(len(container) + len(items))
    meter.step(1 + len(container) // 64)
    container[slice_of(node, frame)] = items


def _bindings(clauses: Sequence[ast.comprehension], first: Iterator[object], frame: Frame) -> Iterator[None]:
    """Bind the targets of a comprehension's clauses, again and again, in the comprehension's own frame."""
    clause, *rest = clauses
    for item in first:
        assign(clause.target, item, frame)
        if not all(evaluate(test, frame) for test in clause.ifs):
            continue
        if rest:
            yield from _bindings(rest, iterate(evaluate(rest[0].iter, frame), frame.machine.meter), frame)
        else:
            yield None


def _comprehension(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, frame: Frame) -> object:
    meter, inner = frame.machine.meter, Frame(frame.machine, frame, comprehension=True)
    # The first iterable is evaluated outside, as in Python.
    bindings = _bindings(node.generators, iterate(evaluate(node.generators[0].iter, frame), meter), inner)
    if isinstance(node, ast.GeneratorExp):
        return Lazy(evaluate(node.elt, inner) for _ in bindings)
    items: Any = [] if isinstance(node, ast.ListComp) else Members() if isinstance(node, ast.SetComp) else {}
    for _ in bindings:
        if isinstance(node, ast.ListComp):
            items.append(evaluate(node.elt, inner))
        elif isinstance(node, ast.SetComp):
            items.add(key(evaluate(node.elt, inner), meter))
        else:
            name = key(evaluate(node.key, inner), meter)
            items[name] = evaluate(node.value, inner)
        meter.grow(len(items))
    return items


_HANDLERS: dict[type[ast.expr], Callable[[Any, Frame], object]] = {
    ast.Constant: lambda node, frame: node.value,
    ast.Name: lambda node, frame: frame.find(node.id),
    ast.BoolOp: _boolean,
    ast.BinOp: _binary,
    ast.UnaryOp: lambda node, frame: unary(node.op, evaluate(node.operand, frame), frame.machine.meter),
    ast.IfExp: lambda node, frame: evaluate(node.body if evaluate(node.test, frame) else node.orelse, frame),
    ast.Compare: _comparison,
    ast.List: lambda node, frame: frame.machine.meter.keep(_items(node.elts, frame)),
    ast.Tuple: lambda node, frame: frame.machine.meter.keep(tuple(_items(node.elts, frame))),
    ast.Set: _set,
    ast.Dict: _dict,
    ast.Subscript: _subscript,
    ast.JoinedStr: _joined,
    ast.FormattedValue: _formatted,
    ast.Attribute: lambda node, frame: attribute(evaluate(node.value, frame), node.attr),
    ast.Lambda: _lambda,
    ast.Call: _call,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.NamedExpr: _walrus,
}


def matches(pattern: ast.pattern, value: Any, frame: Frame) -> bool:
    """Whether a value is of a pattern's form; names in it are stored as they are matched, as in Python."""
    frame.machine.meter.step()
    return _FORMS[type(pattern)](pattern, value, frame)


def _as_form(pattern: ast.MatchAs, value: object, frame: Frame) -> bool:
    if pattern.pattern is not None and not matches(pattern.pattern, value, frame):
        return False
    if pattern.name:
        frame.store(pattern.name, value)
    return True


def _sequence_form(pattern: ast.MatchSequence, value: Any, frame: Frame) -> bool:
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


def _mapping_form(pattern: ast.MatchMapping, value: object, frame: Frame) -> bool:
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


def _class_form(pattern: ast.MatchClass, value: object, frame: Frame) -> bool:
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


_FORMS: dict[type[ast.pattern], Callable[[Any, Any, Frame], bool]] = {
    ast.MatchValue: lambda pattern, value, frame: equal(value, evaluate(pattern.value, frame), frame.machine.meter),
    ast.MatchSingleton: lambda pattern, value, frame: value is pattern.value,
    ast.MatchOr: lambda pattern, value, frame: any(matches(part, value, frame) for part in pattern.patterns),
    ast.MatchAs: _as_form,
    ast.MatchSequence: _sequence_form,
    ast.MatchMapping: _mapping_form,
    ast.MatchClass: _class_form,
}
