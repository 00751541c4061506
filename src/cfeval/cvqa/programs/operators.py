"""Operators on a program's values: what Python gives, with the size of a result checked before it is made."""

import ast
import operator
from collections.abc import Callable
from typing import Any

from cfeval.cvqa.programs.limits import Meter, ProgramFault, Unsupported
from cfeval.cvqa.programs.objects import Class, Instance
from cfeval.cvqa.programs.text import percent
from cfeval.cvqa.programs.values import NUMBERS, Members, Native, Tally, collect, iterate, key, kind, weigh

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
