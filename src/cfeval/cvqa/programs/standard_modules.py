"""The modules `re` and `math`, as programs may import them.

Patterns of `re` take linear time (see `regex`); `math` is a list of names, with the size of what is computed bounded.
"""

import math
import re
from collections.abc import Callable
from typing import Any

from cfeval.cvqa.programs.builtins import call
from cfeval.cvqa.programs.limits import ProgramFault, Unsupported
from cfeval.cvqa.programs.operators import binary, sign_of
from cfeval.cvqa.programs.regex import Pattern, Spans, compiled, matched, spans
from cfeval.cvqa.programs.values import NUMBERS, Lazy, Machine, Match, Module, Native, by_name, collect, iterate, kind

# ruff: noqa: ARG001, ARG005 - all functions of a table are called alike


IGNORE_CASE = int(re.IGNORECASE)
_REFERENCE = re.compile(r"\\(?:([0-9])|g<(\w+)>|(.))", re.DOTALL)


def pattern_of(machine: Machine, given: object, flags: object = 0) -> Pattern:
    """A pattern of a text, or one that is compiled already."""
    if isinstance(given, Pattern):
        return given
    if not isinstance(given, str):
        raise ProgramFault("re takes a text as its pattern", kind="TypeError")
    if flags not in (0, IGNORE_CASE):
        raise Unsupported("re takes no flag but re.IGNORECASE")
    return compiled(given, flags == IGNORE_CASE, machine.meter)


def _checked_text(value: object) -> str:
    if not isinstance(value, str):
        raise ProgramFault(f"re looks in a text, not in {kind(value)}", kind="TypeError")
    return value


def _once(anchored: bool, whole: bool) -> Callable[..., Match | None]:
    def run(machine: Machine, pattern: object, string: object, flags: object = 0) -> Match | None:
        own, text = pattern_of(machine, pattern, flags), _checked_text(string)
        span = matched(own, text, 0, anchored, whole, machine.meter)
        return None if span is None else Match(text, own, span)

    return run


def _matches(machine: Machine, pattern: object, string: object, flags: object = 0) -> list[Match]:
    own, text = pattern_of(machine, pattern, flags), _checked_text(string)
    matches = []
    for span in spans(own, text, machine.meter):
        matches.append(Match(text, own, span))
        machine.meter.grow(len(matches))
    return matches


def _findall(machine: Machine, pattern: object, string: object, flags: object = 0) -> list[object]:
    """Texts; of a pattern with a group that group, with several tuples."""
    matches = _matches(machine, pattern, string, flags)
    return [texts if len(texts) > 1 else texts[0] for texts in (_findings(match) for match in matches)]


def _findings(match: Match) -> tuple[str, ...]:
    count = match.pattern.groups
    return tuple(part_of(match, number) or "" for number in (range(1, count + 1) if count else (0,)))


def _sub(machine: Machine, pattern: object, repl: object, string: object, count: int = 0, flags: object = 0) -> str:
    meter = machine.meter
    pieces, at = [], 0
    for number, match in enumerate(_matches(machine, pattern, string, flags)):
        if count and number >= count:
            break
        start, end = match.spans[0] or 0, match.spans[1] or 0
        new = _expanded(repl, match) if isinstance(repl, str) else call(repl, [match], {}, machine)
        pieces += [_checked_text(string)[at:start], _checked_text(new)]
        at = end
        meter.text(sum(map(len, pieces[-2:])))
    pieces.append(_checked_text(string)[at:])
    meter.text(sum(map(len, pieces)))
    return "".join(pieces)


def _expanded(template: str, match: Match) -> str:

    def replaced(reference: re.Match[str]) -> str:
        if reference[3]:
            return {"n": "\n", "t": "\t"}.get(reference[3], reference[3])
        name = reference[1] or reference[2]
        return part_of(match, int(name) if name.isdecimal() else name) or ""

    return _REFERENCE.sub(replaced, template)


def _split(machine: Machine, pattern: object, string: object, maxsplit: int = 0, flags: object = 0) -> list[object]:
    pieces: list[object] = []
    at = 0
    for number, match in enumerate(_matches(machine, pattern, string, flags)):
        if maxsplit and number >= maxsplit:
            break
        start, end = match.spans[0] or 0, match.spans[1] or 0
        pieces += [
            _checked_text(string)[at:start],
            *(part_of(match, group) for group in range(1, match.pattern.groups + 1)),
        ]
        at = end
    return machine.meter.keep([*pieces, _checked_text(string)[at:]])


def _span(match: Match, group: object) -> tuple[int | None, int | None]:
    number = match.pattern.names.get(group, -1) if isinstance(group, str) else group
    if not isinstance(number, int) or not 0 <= number <= match.pattern.groups:
        raise ProgramFault(f"the pattern has no group {str(group)[:40]}", kind="IndexError")
    span: Spans = match.spans[2 * number : 2 * number + 2]
    return span[0], span[1]


def part_of(match: Match, group: object) -> str | None:
    """What a group found; None where it took no part."""
    start, end = _span(match, group)
    return None if start is None or end is None else match.text[start:end]


def _group(machine: Machine, match: Match, /, *groups: object) -> object:
    parts = [part_of(match, group) for group in groups or (0,)]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _groups(machine: Machine, match: Match, /, default: object = None) -> tuple[object, ...]:
    parts = (part_of(match, number) for number in range(1, match.pattern.groups + 1))
    return tuple(default if part is None else part for part in parts)


def _edge(which: int) -> Callable[..., int]:
    def run(machine: Machine, match: Match, group: object = 0, /) -> int:
        edge = _span(match, group)[which]
        return -1 if edge is None else edge

    return run


def _both(machine: Machine, match: Match, group: object = 0, /) -> tuple[int, int]:
    return _edge(0)(machine, match, group), _edge(1)(machine, match, group)


# Of what a pattern found.
MATCH_METHODS: dict[str, Callable[..., object]] = {
    **by_name(_group, _groups),
    "groupdict": lambda machine, match, /: {name: part_of(match, name) for name in match.pattern.names},
    "start": _edge(0),
    "end": _edge(1),
    "span": _both,
}
# Of a compiled pattern, and functions of the module.
PATTERN_METHODS: dict[str, Callable[..., object]] = {
    "search": _once(anchored=False, whole=False),
    "match": _once(anchored=True, whole=False),
    "fullmatch": _once(anchored=True, whole=True),
    **by_name(_findall, _sub, _split),
    "finditer": lambda machine, pattern, string, flags=0: Lazy(iter(_matches(machine, pattern, string, flags))),
}
# The module.
RE = Module(
    "re",
    {name: Native(name, run) for name, run in PATTERN_METHODS.items()}
    | {
        "compile": Native("compile", pattern_of),
        "escape": Native("escape", lambda machine, pattern, /: machine.meter.keep(re.escape(_checked_text(pattern)))),
    }
    | {"IGNORECASE": IGNORE_CASE, "I": IGNORE_CASE},
)


# The largest factorial that a float can hold.
_LARGEST_FACTORIAL = 170
# Functions of `math` that take numbers alone.
_OF_NUMBERS = (
    "acos asin atan atan2 cbrt ceil copysign cos degrees exp fabs floor fmod gcd hypot isclose isfinite isinf isnan "
    "isqrt lcm log log10 log2 pow radians sin sqrt tan trunc"
)


def _numbers_only(function: Callable[..., object]) -> Callable[..., object]:
    def run(machine: Machine, /, *numbers: object) -> object:
        wrong = next((number for number in numbers if not isinstance(number, NUMBERS)), 0)
        if not isinstance(wrong, NUMBERS):
            raise ProgramFault(f"math.{function.__name__} takes numbers, not {kind(wrong)}", kind="TypeError")
        machine.meter.step(len(numbers))
        return machine.meter.keep(function(*numbers))

    return run


def _bounded(function: Callable[..., object]) -> Callable[..., object]:
    """Of integers small enough for the result to be of some use."""

    def run(machine: Machine, /, *numbers: Any) -> object:
        if not all(isinstance(number, int) for number in numbers):
            raise ProgramFault(f"math.{function.__name__} takes integers", kind="TypeError")
        if any(number > _LARGEST_FACTORIAL for number in numbers):
            raise Unsupported(f"math.{function.__name__} takes integers of at most {_LARGEST_FACTORIAL}")
        return machine.meter.keep(function(*numbers))

    return run


def _dist(machine: Machine, one: object, other: object, /) -> float:
    return math.dist(collect(one, machine.meter), collect(other, machine.meter))


def _prod(machine: Machine, values: object, /, *, start: object = 1) -> object:
    for value in iterate(values, machine.meter):
        start = binary(sign_of("*"), start, value, machine.meter)
    return start


def _fsum(machine: Machine, values: object, /) -> float:
    items = collect(values, machine.meter)
    if not all(isinstance(item, NUMBERS) for item in items):
        raise ProgramFault("math.fsum takes numbers", kind="TypeError")
    return math.fsum(items)


_MATH_FUNCTIONS: dict[str, Callable[..., object]] = {
    **{name: _numbers_only(getattr(math, name)) for name in _OF_NUMBERS.split()},
    **{function.__name__: _bounded(function) for function in (math.factorial, math.comb, math.perm)},
    **by_name(_dist, _prod, _fsum),
}
MATH = Module(
    "math",
    {name: Native(name, run) for name, run in _MATH_FUNCTIONS.items()}
    | {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan},
)
