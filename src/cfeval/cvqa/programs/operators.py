"""Operators on a program's values, and values as text: what Python gives, the size checked before a result is made.

Texts are as `str` and `repr` write them, glimpses for traces, and made from templates: `'{} of {n:.1f}'.format(…)`,
`'%d of %s' % …`. A place in a template is empty, a number or a name; nothing is ever looked up in a value.
"""

import ast
import operator
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cfeval.cvqa.programs.limits import SHOWN, Exhausted, Meter, ProgramFault, Unsupported
from cfeval.cvqa.programs.regex import Pattern
from cfeval.cvqa.programs.values import (
    NUMBERS,
    Class,
    Error,
    Function,
    Image,
    ImagePatch,
    Instance,
    Lazy,
    Match,
    Members,
    Module,
    Named,
    Native,
    Tally,
    collect,
    iterate,
    key,
    kind,
    weigh,
)
from cfeval.cvqa.programs.vision import Found, View

# Format specifications that are allowed: a width and precision of at most two digits.
_SPEC = re.compile(r"(?:[^{}]?[<>^=])?[+\- ]?[0-9]{0,2}[,_]?(\.[0-9]{1,2})?[dfeg%sbx]?")


def text_of(value: object, meter: Meter) -> str:
    """`str(value)`."""
    if isinstance(value, Error):
        return meter.keep(value.message)
    if isinstance(value, Instance) and value.has("__str__"):
        return _own_text(value, "__str__", meter)
    if isinstance(value, Instance) and value.cls.exception:
        args: Any = value.names.get("args", ())
        return text_of(args[0] if len(args) == 1 else args, meter) if args else ""
    if isinstance(value, Instance) and value.cls.enumeration:
        return f"{value.cls.name}.{value.names['name']}"
    return meter.keep(value if isinstance(value, str) else written(value, meter.budget.string, meter))


def quoted(value: object, meter: Meter) -> str:
    """`repr(value)`."""
    return meter.keep(written(value, meter.budget.string, meter))


def formatted(value: object, spec: str, meter: Meter) -> str:
    """A value in an f-string, by a short numeric specification."""
    if not spec:
        return text_of(value, meter)
    if not _SPEC.fullmatch(spec):
        raise Unsupported(f"format {spec[:40]!r} is not supported; use a width and precision of at most two digits")
    if not isinstance(value, str | int | float):
        raise ProgramFault(f"format {spec!r} needs a number or a text", kind="TypeError")
    return meter.keep(format(value, spec))


def glimpse(value: object, limit: int = SHOWN) -> str:
    """A value as a trace shows it: no longer than that, whatever it holds."""
    pieces: list[str] = []
    left = limit + 1
    for piece in _pieces(value, 0):
        pieces.append(piece[:left])
        left -= len(piece)
        if left <= 0:
            break
    return "".join(pieces)


def written(value: object, limit: int, meter: Meter) -> str:
    """`repr` of a value, stopped where it grows too long."""
    pieces: list[str] = []
    total = 0
    for piece in _pieces(value, 0, meter):
        meter.step()
        total += len(piece)
        if total > limit:
            raise Exhausted(f"a text of more than {limit} characters")
        pieces.append(piece)
    return "".join(pieces)


_BRACKETS: tuple[tuple[type[Any], str, str], ...] = ((list, "[", "]"), (tuple, "(", ")"), (Members, "{", "}"))


def _own_text(value: Instance, name: str, meter: Meter) -> str:
    text = value.invoke(name)
    if not isinstance(text, str):
        raise ProgramFault(f"{name} returns a text", kind="TypeError")
    return meter.keep(text)


def _pieces(value: Any, level: int, meter: Meter | None = None) -> Any:
    """The pieces of a value's text, one after another; lists within themselves end in dots.

    Without a meter no method of the program is called for it: a trace only looks.
    """
    if level > 20:
        yield "…"
        return
    if isinstance(value, Named):
        yield f"{value.cls.name}("
        for number, (name, item) in enumerate(zip(value.cls.fields, value, strict=True)):
            yield f"{', ' if number else ''}{name}="
            yield from _pieces(item, level + 1, meter)
        yield ")"
        return
    if isinstance(value, Instance) and meter is not None and value.has("__repr__"):
        yield _own_text(value, "__repr__", meter)
        return
    for brackets, start, end in _BRACKETS:
        if isinstance(value, brackets):
            yield from _listed(
                list(value), start, end if brackets is not tuple or len(value) != 1 else ",)", level, meter
            )
            return
    if isinstance(value, dict):
        yield "{"
        for number, (name, item) in enumerate(value.items()):
            yield ", " if number else ""
            yield from _pieces(name, level + 1, meter)
            yield ": "
            yield from _pieces(item, level + 1, meter)
        yield "}"
        return
    yield _plain(value)


def _listed(items: list[object], start: str, end: str, level: int, meter: Meter | None) -> Any:
    if not items and start == "{":
        yield "set()"
        return
    yield start
    for number, item in enumerate(items):
        yield ", " if number else ""
        yield from _pieces(item, level + 1, meter)
    yield end


def _plain(value: object) -> str:
    """The text of a value that holds no others; never an address."""
    if isinstance(value, ImagePatch):
        return f"ImagePatch({value.left}, {value.lower}, {value.right}, {value.upper})"
    if isinstance(value, Image):
        return _box("image", value.view.box)
    if isinstance(value, View):
        return _box("image", value.box)
    if isinstance(value, Found):
        return _box("box", value.box)
    if isinstance(value, Instance):
        member = f".{value.names['name']}" if value.cls.enumeration else ""
        return f"<{value.cls.name}{member}>"
    if isinstance(value, Class):
        return f"<class {value.name}>"
    if isinstance(value, Native | Function | Module):
        return f"<{value.name}>"
    if isinstance(value, Error):
        return f"{value.kind}({value.message!r})"
    if isinstance(value, Match):
        return f"<match {value.text[slice(*value.spans[:2])][:SHOWN]!r}>"
    if isinstance(value, Pattern):
        return f"<pattern {value.text[:SHOWN]!r}>"
    if isinstance(value, Lazy):
        return "<iterator>"
    return repr(value) if isinstance(value, str | int | float | range | None) or value is ... else f"<{kind(value)}>"


def _box(name: str, box: tuple[float, ...]) -> str:
    return f"{name}({', '.join(f'{edge:g}' for edge in box)})"


_TEMPLATE_PLACE = re.compile(r"[A-Za-z0-9]\w*|")
_PERCENT = re.compile(r"%(?:\((\w+)\))?([-+ 0]{0,3}[0-9]{0,2}(?:\.[0-9]{1,2})?)([sdifgerx%])")


def filled(template: str, values: Sequence[object], named: Mapping[str, object], meter: Meter) -> str:
    """`template.format(*values, **named)`.

    Raises:
        ProgramFault: a place that has an attribute or an index, or for which there is no value.
    """
    meter.step(1 + len(template) // 16)
    pieces, count = [], 0
    for literal, place, spec, conversion in string.Formatter().parse(template):
        pieces.append(literal)
        if place is None:
            continue
        if not _TEMPLATE_PLACE.fullmatch(place):
            raise Unsupported(f"the place {place[:40]!r} of a format: only numbers and names")
        name = place or str(count)
        count += not place
        value = values[int(name)] if name.isdecimal() else named[name]
        shown = quoted(value, meter) if conversion in ("r", "a") else value
        pieces.append(formatted(shown, spec or "", meter))
    meter.text(sum(map(len, pieces)))
    return "".join(pieces)


def percent(template: str, value: object, meter: Meter) -> str:
    """`template % value`.

    Raises:
        ProgramFault: more or fewer values than places, or a place of another form than a short width and precision.
    """
    meter.step(1 + len(template) // 16)
    values = list(value) if isinstance(value, tuple) else [value]
    if template.count("%") != sum(match[0].count("%") for match in _PERCENT.finditer(template)):
        raise Unsupported("a place of a % format: only a width and precision of at most two digits")

    def filled_in(match: re.Match[str]) -> str:
        name, shape, sign = match.groups()
        if sign == "%":
            return "%"
        if not name and not values:
            raise ProgramFault("more places than values in a % format", kind="TypeError")
        own = value[name] if name and isinstance(value, dict) else values.pop(0)
        if sign not in "sr" and not isinstance(own, int | float):
            raise ProgramFault(f"%{sign} takes a number", kind="TypeError")
        shown = text_of(own, meter) if sign == "s" else quoted(own, meter) if sign == "r" else own
        return meter.keep(f"%{shape}{'s' if sign == 'r' else sign}" % shown)

    made = _PERCENT.sub(filled_in, template)
    if values and not isinstance(value, dict):
        raise ProgramFault("more values than places in a % format", kind="TypeError")
    return meter.keep(made)


_NUMERIC: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
    ast.BitOr: ("|", operator.or_),
    ast.BitAnd: ("&", operator.and_),
    ast.BitXor: ("^", operator.xor),
    ast.MatMult: ("@", operator.matmul),
}
# The program's special methods for operators.
_METHODS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod"}
_CHECKED = {ast.Pow, ast.LShift, ast.RShift, ast.BitOr, ast.BitAnd, ast.BitXor}
_SETS = (ast.BitOr, ast.BitAnd, ast.BitXor, ast.Sub)
_UNARY: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]] = {
    ast.USub: ("-", operator.neg),
    ast.UAdd: ("+", operator.pos),
    ast.Invert: ("~", operator.invert),
}
_ORDER: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
_SEQUENCES = (str, list, tuple)
_CONTAINERS = (list, tuple, dict, Members)


def binary(op: ast.operator, left: Any, right: Any, meter: Meter) -> Any:
    """`left op right` as a new value."""
    if isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
        if type(op) in _CHECKED:
            _check_numbers(op, left, right, meter)
        return meter.keep(_NUMERIC[type(op)][1](left, right))
    if isinstance(op, ast.Add) and isinstance(left, _SEQUENCES) and type(left) is type(right):
        _new(left, len(left) + len(right), meter)
        return operator.add(left, right)
    if isinstance(op, ast.Mult) and isinstance(right, _SEQUENCES):
        left, right = right, left
    if isinstance(op, ast.Mult) and isinstance(left, _SEQUENCES) and isinstance(right, int):
        _new(left, len(left) * max(right, 0), meter)
        return left * right
    if isinstance(op, _SETS) and isinstance(left, Members) and isinstance(right, Members):
        meter.length(len(left) + len(right))
        meter.step(len(left) + len(right))
        return _NUMERIC[type(op)][1](left, right)
    if isinstance(op, ast.BitOr) and isinstance(left, dict) and isinstance(right, dict):
        meter.length(len(left) + len(right))
        meter.step(len(left) + len(right))
        return left | right
    if isinstance(op, ast.Mod) and isinstance(left, str):
        return percent(left, right, meter)
    if isinstance(op, ast.Add | ast.Sub) and isinstance(left, Tally) and isinstance(right, Tally):
        # The sum or difference of two counters: what is more than nothing of it, as in Python.
        meter.step(len(left) + len(right))
        meter.length(len(left) + len(right))
        counts = {name: binary(op, left.get(name, 0), right.get(name, 0), meter) for name in left | right}
        return Tally({name: count for name, count in counts.items() if count > 0})
    sign = _NUMERIC[type(op)][0]
    if isinstance(left, Instance) and left.has(f"__{_METHODS.get(sign)}__"):
        return left.invoke(f"__{_METHODS[sign]}__", right)
    if isinstance(right, Instance) and right.has(f"__r{_METHODS.get(sign)}__"):
        return right.invoke(f"__r{_METHODS[sign]}__", left)
    if sign == "|" and _is_type(left) and _is_type(right):
        return (left, right)
    raise ProgramFault(f"{sign} cannot take {kind(left)} and {kind(right)}", kind="TypeError")


def _is_type(value: object) -> bool:
    """Whether a value may stand in `int | None`."""
    if isinstance(value, tuple):
        return all(map(_is_type, value))
    return value is None or isinstance(value, Class) or (isinstance(value, Native) and bool(value.type))


def sign_of(text: str) -> ast.operator:
    """The operator of a sign."""
    return next(operation() for operation, (sign, _) in _NUMERIC.items() if sign == text)


def _check_numbers(op: ast.operator, left: Any, right: Any, meter: Meter) -> None:
    """What must be known of two numbers before the operators that can make huge ones, or no real number, are used."""
    whole = isinstance(left, int) and isinstance(right, int)
    if isinstance(op, ast.Pow):
        if whole and right > 0:
            meter.bits(int(left).bit_length() * int(right))
        elif left < 0 and not float(right).is_integer():
            raise Unsupported("the power is a complex number")
    elif not whole:
        raise ProgramFault(f"{_NUMERIC[type(op)][0]} cannot take {kind(left)} and {kind(right)}", kind="TypeError")
    elif isinstance(op, ast.LShift) and left and right > 0:
        meter.bits(int(left).bit_length() + int(right))


def _new(like: object, count: int, meter: Meter) -> None:
    if isinstance(like, str):
        meter.text(count)
    else:
        meter.length(count)
    meter.step(1 + count // 256)


def extended(op: ast.operator, left: Any, right: Any, meter: Meter) -> object:
    """`left op= right`: a list or set grows in place, as in Python; anything else is a new value."""
    if isinstance(left, list) and isinstance(op, ast.Add):
        items = right if isinstance(right, list) else collect(right, meter)
        _new(left, len(left) + len(items), meter)
        left.extend(items)
        return left
    if isinstance(left, Members) and isinstance(right, Members) and isinstance(op, ast.BitOr):
        meter.length(len(left) + len(right))
        meter.step(len(right))
        left |= right
        return left
    result = binary(op, left, right, meter)
    if isinstance(left, list) and isinstance(result, list):
        left[:] = result
        return left
    return result


def unary(op: ast.unaryop, value: Any, meter: Meter) -> object:
    """`op value`."""
    if isinstance(op, ast.Not):
        return not value
    sign, function = _UNARY[type(op)]
    if not isinstance(value, NUMBERS) or (isinstance(op, ast.Invert) and isinstance(value, float)):
        raise ProgramFault(f"{sign} cannot take {kind(value)}", kind="TypeError")
    return meter.keep(int(value).__invert__() if isinstance(op, ast.Invert) else function(value))


def compare(op: ast.cmpop, left: Any, right: Any, meter: Meter) -> bool:
    """`left op right` of a comparison."""
    if isinstance(op, ast.Is | ast.IsNot):
        return (left is right) == isinstance(op, ast.Is)
    if isinstance(op, ast.Eq | ast.NotEq):
        if isinstance(op, ast.NotEq) and isinstance(left, Instance) and left.has("__ne__"):
            return bool(left.invoke("__ne__", right))
        return equal(left, right, meter) == isinstance(op, ast.Eq)
    if isinstance(op, ast.In | ast.NotIn):
        return contains(right, left, meter) == isinstance(op, ast.In)
    return ordered(op, left, right, meter)


def equal(left: object, right: object, meter: Meter) -> bool:
    """Whether two values are equal."""
    if isinstance(left, _CONTAINERS) and isinstance(right, _CONTAINERS):
        weigh(left, meter)
        weigh(right, meter)
    return bool(left == right)


def ordered(op: ast.cmpop, left: Any, right: Any, meter: Meter) -> bool:
    """Whether one value is before or after another."""
    sign, function = _ORDER[type(op)]
    numbers = isinstance(left, NUMBERS) and isinstance(right, NUMBERS)
    own = isinstance(left, Instance) or isinstance(right, Instance)
    if not numbers and not own and not (type(left) is type(right) and isinstance(left, (*_SEQUENCES, Members))):
        raise ProgramFault(f"{sign} cannot take {kind(left)} and {kind(right)}", kind="TypeError")
    if not numbers:
        weigh(left, meter)
        weigh(right, meter)
    return bool(function(left, right))


def contains(container: Any, item: Any, meter: Meter) -> bool:
    """`item in container`."""
    if isinstance(container, str):
        if not isinstance(item, str):
            raise ProgramFault(f"`in` a text takes a text, not {kind(item)}", kind="TypeError")
        meter.step(1 + len(container) // 64)
        return item in container
    if isinstance(container, dict | Members):
        return key(item, meter) in container
    if isinstance(container, list | tuple):
        weigh(container, meter)
        return item in container
    if isinstance(container, range):
        meter.step(1 if isinstance(item, int) else 1 + len(container) // 16)
        return item in container
    if isinstance(container, Instance) and container.has("__contains__"):
        return bool(container.invoke("__contains__", item))
    return any(item is other or equal(item, other, meter) for other in iterate(container, meter))
