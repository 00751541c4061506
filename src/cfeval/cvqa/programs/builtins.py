"""Calling functions, and those that programs know from Python; what costs more than a step takes more.

Functions that are offered are recorded where they are traced; the program's own run in a frame of their own.
"""

# ruff: noqa: ARG001, ARG005 - all functions of a table are called alike

import ast
import builtins
import inspect
from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

from cfeval.cvqa.programs.limits import Exhausted, ProgramFault, Unsupported
from cfeval.cvqa.programs.operators import binary, formatted, glimpse, quoted, text_of
from cfeval.cvqa.programs.parser import EXCEPTIONS
from cfeval.cvqa.programs.values import (
    NUMBERS,
    Class,
    Error,
    Frame,
    Function,
    Instance,
    Lazy,
    Machine,
    Members,
    Named,
    Native,
    by_name,
    collect,
    iterate,
    key,
    kind,
    weigh,
)


def call(function: object, arguments: Sequence[object], named: dict[str, object], machine: Machine) -> Any:
    """Call a function: one that is offered, or one of the program's own."""
    if isinstance(function, Native):
        line = machine.line
        try:
            result = function.run(machine, *function.receiver, *arguments, **named)
        except TypeError:
            # Say so where a call failed because it does not fit what the function takes.
            signature = inspect.signature(function.run)
            try:
                signature.bind(None, *function.receiver, *arguments, **named)
            except TypeError:
                taken = [str(name) for name in signature.parameters][1 + len(function.receiver) :]
                raise ProgramFault(
                    f"{function.name} takes ({', '.join(taken)}) and was called otherwise", kind="TypeError"
                ) from None
            raise
        if function.traced:
            shown = [glimpse(value) for value in (*function.receiver, *arguments)]
            shown += [f"{name}={glimpse(value)}" for name, value in named.items()]
            machine.trace.add(line, function.name, ", ".join(shown), glimpse(result))
        return machine.meter.keep(result)
    if isinstance(function, Class):
        return instantiate(function, arguments, named, machine)
    if isinstance(function, Instance) and (method := function.cls.find("__call__")):
        return call(method[1], [function, *arguments], named, machine)
    if not isinstance(function, Function):
        raise ProgramFault(f"a value of type {kind(function)} cannot be called", kind="TypeError")
    if machine.level >= machine.meter.budget.depth:
        raise Exhausted(f"functions called within each other more than {machine.meter.budget.depth} deep")
    bound = _bound(function, arguments, named)
    inner = Frame(machine, function.outer, bound, function.local, function=function)
    machine.level += 1
    try:
        return function.body(inner)
    finally:
        machine.level -= 1


def instantiate(cls: Class, arguments: Sequence[object], named: dict[str, object], machine: Machine) -> Instance:
    """An object of a program's class; of an enumeration the member with that value."""
    if cls.enumeration:
        members = [member for member in cls.members.values() if isinstance(member, Instance)]
        wanted = list(arguments) + list(named.values())
        chosen = next((member for member in members if [member.names["value"]] == wanted), None)
        if chosen is None:
            raise ProgramFault(f"{cls.name} has no member with this value", kind="ValueError")
        return chosen
    machine.meter.length(len(cls.members))
    instance = Instance(cls)
    method = cls.find("__init__")
    if cls.exception:
        instance.names["args"] = tuple(arguments)
    if method is not None:
        call(method[1], [instance, *arguments], named, machine)
    elif (arguments or named) and not cls.exception:
        raise ProgramFault(f"{cls.name}() takes no arguments", kind="TypeError")
    return instance


def _bound(function: Function, arguments: Sequence[object], named: dict[str, object]) -> dict[str, object]:
    names, defaults = function.names, function.defaults
    bound = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)) | dict(function.by_name)
    given = dict(zip(names, arguments, strict=False))
    missing = [name for name in (*names, *function.only) if name not in bound | given | named]
    extra = {name: value for name, value in named.items() if name not in (*names, *function.only)}
    twice = given.keys() & named.keys()
    if missing or twice or (extra and not function.named) or (len(arguments) > len(names) and not function.rest):
        taken = [*names, *function.only]
        raise ProgramFault(f"{function.name} takes ({', '.join(taken)}) and was called otherwise", kind="TypeError")
    rest: dict[str, object] = {function.rest: tuple(arguments[len(names) :])} if function.rest else {}
    rest |= {function.named: extra} if function.named else {}
    return bound | given | {name: value for name, value in named.items() if name not in extra} | rest


_PLUS = ast.Add()
# Decimal places that `round` takes.
_DIGITS = 300


def sort_order(machine: Machine, items: Sequence[object], by: object, reverse: bool) -> list[int]:
    """The numbers of the items in sorted order; stable, also in reverse, as in Python."""
    keys: list[Any] = [item if by is None else call(by, [item], {}, machine) for item in items]
    for value in keys:
        weigh(value, machine.meter)
    machine.meter.step(len(keys) * len(keys).bit_length())
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)


def _len(machine: Machine, value: Any, /) -> int:
    if isinstance(value, Class) and value.enumeration:
        return len(collect(value, machine.meter))
    if not isinstance(value, str | list | tuple | dict | Members | range | Instance):
        raise ProgramFault(f"a value of type {kind(value)} has no length", kind="TypeError")
    return len(value)


def _int(machine: Machine, value: object = 0, /, base: int = 10) -> int:
    if not isinstance(value, str | int | float):
        raise ProgramFault(f"int takes a number or a text, not {kind(value)}", kind="TypeError")
    if isinstance(value, str) and len(value) > _DIGITS:
        raise Unsupported(f"int of a text of {len(value)} characters; at most {_DIGITS}")
    return int(value, base) if isinstance(value, str) else int(value)


def _float(machine: Machine, value: object = 0.0, /) -> float:
    if not isinstance(value, str | int | float):
        raise ProgramFault(f"float takes a number or a text, not {kind(value)}", kind="TypeError")
    return float(value)


def _abs(machine: Machine, value: Any, /) -> object:
    if not isinstance(value, NUMBERS):
        raise ProgramFault(f"abs takes a number, not {kind(value)}", kind="TypeError")
    return abs(value)


def _round(machine: Machine, number: Any, ndigits: int | None = None) -> object:
    if not isinstance(number, NUMBERS):
        raise ProgramFault(f"round takes a number, not {kind(number)}", kind="TypeError")
    if ndigits is not None and (not isinstance(ndigits, int) or abs(ndigits) > _DIGITS):
        raise Unsupported(f"round takes at most {_DIGITS} decimal places")
    return round(number, ndigits)


def _range(machine: Machine, /, *bounds: Any) -> range:
    if not 1 <= len(bounds) <= 3 or not all(isinstance(bound, int) for bound in bounds):
        raise ProgramFault("range takes one to three integers", kind="TypeError")
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if step == 0:
        raise ProgramFault("range: the step is zero", kind="ValueError")
    count = max(0, (stop - start + step - (1 if step > 0 else -1)) // step)
    if count > machine.meter.budget.container:
        shown = str(count) if count < 10**15 else "very many"
        raise Exhausted(f"a range of {shown} values; at most {machine.meter.budget.container} are allowed")
    return range(start, stop, step)


def _best(better: Callable[[list[int], Any], int], name: str) -> Callable[..., object]:
    """`min` and `max`: the first of the best, by a key; a default where there is none."""

    def run(machine: Machine, /, *values: object, key: object = None, **default: object) -> object:
        if default.keys() - {"default"} or not values:
            raise ProgramFault(f"{name} takes values or one list, `key` and `default`", kind="TypeError")
        items = collect(values[0], machine.meter) if len(values) == 1 else list(values)
        if not items and default:
            return default["default"]
        if not items:
            raise ProgramFault(f"{name} of no values", kind="ValueError")
        keys: list[Any] = [item if key is None else call(key, [item], {}, machine) for item in items]
        for value in keys:
            weigh(value, machine.meter)
        return items[better(list(range(len(keys))), keys.__getitem__)]

    return run


def _sum(machine: Machine, values: object, start: object = 0) -> object:
    """From left to right, on every version of Python."""
    if isinstance(start, str):
        raise ProgramFault("sum cannot add texts; use join", kind="TypeError")

    for value in iterate(values, machine.meter):
        start = binary(_PLUS, start, value, machine.meter)
    return start


def _sorted(machine: Machine, values: object, /, *, key: object = None, reverse: object = False) -> list[object]:
    items = collect(values, machine.meter)
    return [items[number] for number in sort_order(machine, items, key, bool(reverse))]


def _enumerate(machine: Machine, iterable: object, start: int = 0) -> Lazy:
    if not isinstance(start, int):
        raise ProgramFault("enumerate starts at an integer", kind="TypeError")
    return Lazy(enumerate(iterate(iterable, machine.meter), start))


def _zip(machine: Machine, /, *iterables: object, strict: object = False) -> Lazy:
    return Lazy(zip(*(iterate(iterable, machine.meter) for iterable in iterables), strict=bool(strict)))


def _map(machine: Machine, function: object, /, *iterables: object) -> Lazy:
    if not iterables:
        raise ProgramFault("map takes a function and at least one list", kind="TypeError")
    rows = zip(*(iterate(iterable, machine.meter) for iterable in iterables), strict=False)
    return Lazy(call(function, row, {}, machine) for row in rows)


def _filter(machine: Machine, function: object, iterable: object, /) -> Lazy:
    items = iterate(iterable, machine.meter)
    return Lazy(item for item in items if (item if function is None else call(function, [item], {}, machine)))


def _reversed(machine: Machine, value: Any, /) -> Lazy:
    if not isinstance(value, list | tuple | str | range | dict):
        raise ProgramFault(f"reversed cannot take {kind(value)}", kind="TypeError")
    return Lazy(iter(reversed(collect(value, machine.meter))))


def _next(machine: Machine, iterator: object, /, *default: object) -> object:
    if isinstance(iterator, Instance) and iterator.has("__next__"):
        iterator = Lazy(iterator.items())
    if not isinstance(iterator, Lazy) or len(default) > 1:
        raise ProgramFault("next takes an iterator, such as a generator expression, and a default", kind="TypeError")
    missing: list[object] = []
    item = next(iterate(iterator, machine.meter), missing)
    if item is not missing:
        return item
    if not default:
        raise ProgramFault("next: nothing is left, and there is no default", kind="StopIteration")
    return default[0]


def _set(machine: Machine, values: object = (), /) -> Members:
    return Members(key(item, machine.meter) for item in collect(values, machine.meter))


def _dict(machine: Machine, values: object = (), /, **named: object) -> dict[object, object]:
    if isinstance(values, dict):
        machine.meter.step(len(values))
        return values | named
    items: dict[object, object] = {}
    for pair in iterate(values, machine.meter):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ProgramFault("dict takes pairs", kind="ValueError")
        items[key(pair[0], machine.meter)] = pair[1]
        machine.meter.grow(len(items))
    return items | named


def is_instance(value: object, types: object) -> bool:
    """Whether a value is of a type, or of one of several."""
    if isinstance(types, tuple):
        return any(is_instance(value, option) for option in types)
    if types is None:
        return value is None
    if isinstance(types, Class):
        return isinstance(value, Instance) and value.cls.extends(types)
    if not isinstance(types, Native) or not types.type:
        raise ProgramFault(
            "isinstance takes int, float, str, bool, list, tuple, dict, set, ImagePatch or a class", kind="TypeError"
        )
    if types.name in EXCEPTIONS:
        raised = value.kind if isinstance(value, Error) else value.cls.exception if isinstance(value, Instance) else ""
        return is_exception(raised, types.name) if raised else False
    return isinstance(value, types.type) and (not isinstance(value, Named) or types.name in ("tuple", value.cls.name))


def is_exception(name: str, base: str) -> bool:
    """Whether an exception of Python is another, or a special case of it."""
    return issubclass(getattr(builtins, name, Exception), getattr(builtins, base))


def _issubclass(machine: Machine, cls: object, of: object, /) -> bool:
    if isinstance(cls, Class) and isinstance(of, Class):
        return cls.extends(of)
    raise Unsupported("issubclass takes classes of the program")


def _divmod(machine: Machine, one: object, other: object, /) -> tuple[object, object]:
    return binary(ast.FloorDiv(), one, other, machine.meter), binary(ast.Mod(), one, other, machine.meter)


def _chr(machine: Machine, number: int, /) -> str:
    if 0xD800 <= number <= 0xDFFF:
        raise Unsupported("chr of half a surrogate pair")
    return chr(number)


def _iter(machine: Machine, values: object, /) -> Lazy:
    return values if isinstance(values, Lazy) else Lazy(iterate(values, machine.meter))


def _callable(machine: Machine, value: object, /) -> bool:
    return isinstance(value, Native | Function | Class) or (isinstance(value, Instance) and value.has("__call__"))


def _hash(machine: Machine, value: object, /) -> int:
    """Of one value always the same, unlike Python's."""
    key(value, machine.meter)
    if isinstance(value, tuple):
        return hash(tuple(_hash(machine, item) for item in value))
    if isinstance(value, int | float) or (isinstance(value, Instance) and value.has("__hash__")):
        return hash(value)
    return crc32(quoted(value, machine.meter).encode())


def _exception(name: str) -> Native:
    """An exception that can be raised; its text is its first argument."""

    def run(machine: Machine, /, *values: object) -> Error:
        message = text_of(values[0] if len(values) == 1 else values, machine.meter) if values else ""
        return Error(name, message)

    return Native(name, run, type=(Error,))


def _print(machine: Machine, /, *values: object, **named: object) -> None:
    """Printed nowhere: a program has no output but its answer."""


_OTHERS: dict[str, Callable[..., object]] = {
    **by_name(
        _len, _abs, _round, _range, _sum, _sorted, _enumerate, _zip, _map, _filter, _reversed, _next, _issubclass
    ),
    **by_name(_divmod, _chr, _iter, _callable, _hash, _print),
    "min": _best(lambda numbers, by: min(numbers, key=by), "min"),
    "max": _best(lambda numbers, by: max(numbers, key=by), "max"),
    "any": lambda machine, values, /: any(iterate(values, machine.meter)),
    "all": lambda machine, values, /: all(iterate(values, machine.meter)),
    "isinstance": lambda machine, value, types, /: is_instance(value, types),
    "pow": lambda machine, base, exp: binary(ast.Pow(), base, exp, machine.meter),
    "ord": lambda machine, sign, /: ord(sign),
    "repr": lambda machine, value, /: quoted(value, machine.meter),
    "format": lambda machine, value, spec="", /: formatted(value, spec, machine.meter),
}
# Every function by its name.
FUNCTIONS: dict[str, object] = {
    "int": Native("int", _int, type=(int,)),
    "float": Native("float", _float, type=(float,)),
    "str": Native("str", lambda machine, value="", /: text_of(value, machine.meter), type=(str,)),
    "bool": Native("bool", lambda machine, value=False, /: bool(value), type=(bool,)),
    "list": Native("list", lambda machine, values=(), /: collect(values, machine.meter), type=(list,)),
    "tuple": Native("tuple", lambda machine, values=(), /: tuple(collect(values, machine.meter)), type=(tuple,)),
    "dict": Native("dict", _dict, type=(dict,)),
    "set": Native("set", _set, type=(Members,)),
    "frozenset": Native("frozenset", _set, type=(Members,)),
    **{name: Native(name, run) for name, run in _OTHERS.items()},
    **{name: _exception(name) for name in sorted(EXCEPTIONS)},
}
