"""Attributes and methods of values: own tables by the value's type. No attribute is ever looked up on an object.

Left out on purpose, as they make long texts from short ones or are of no use: `format_map`, `expandtabs`,
`encode`.
"""

# ruff: noqa: ARG001, ARG005 - all functions of a table are called alike

import re
from collections import Counter, deque
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import PIL.Image

from cfeval.core.errors import nearest
from cfeval.cvqa.programs import classes, image_patch, standard_modules
from cfeval.cvqa.programs.builtins import FUNCTIONS, call, sort_order
from cfeval.cvqa.programs.limits import ProgramFault, Unsupported
from cfeval.cvqa.programs.operators import binary, equal, filled, sign_of
from cfeval.cvqa.programs.values import (
    Class,
    Function,
    ImagePatch,
    Instance,
    Lazy,
    Machine,
    Members,
    Module,
    Named,
    Native,
    Property,
    Queue,
    Super,
    Tally,
    by_name,
    collect,
    iterate,
    key,
    kind,
    weigh,
)

Table = dict[str, Callable[..., object]]

# What is offered as attributes that are no methods, by the value's type; each takes the value.
ATTRIBUTES: dict[str, Table] = {
    "ImagePatch": image_patch.ATTRIBUTES,
    "image": image_patch.IMAGE_ATTRIBUTES,
    "exception": {"args": lambda error: (error.message,) if error.message else ()},
}
# Methods by the value's type; each takes the machine, the value, then the program's arguments.
METHODS: dict[str, Table] = {
    "ImagePatch": image_patch.METHODS,
    "match": standard_modules.MATCH_METHODS,
    "pattern": standard_modules.PATTERN_METHODS,
}
_TRACED = {"ImagePatch"}
# What Python's own values have: a name among these that is not offered here is no error of the program.
_REAL: dict[str, frozenset[str]] = {
    name: frozenset(dir(of))
    for name, of in (
        *(("str", str), ("list", list), ("deque", deque), ("tuple", tuple), ("named tuple", tuple), ("dict", dict)),
        *(("Counter", Counter), ("defaultdict", dict), ("set", set), ("int", int), ("bool", bool), ("float", float)),
        *(("range", range), ("iterator", (_ for _ in ())), ("exception", Exception), ("match", re.Match)),
        *(("pattern", re.Pattern), ("function", lru_cache(len)), ("None", None), ("image", PIL.Image.Image)),
    )
}


def attribute(value: object, name: str) -> object:
    """`value.name`: of a module, a patch, or a method bound to its value."""
    type_name = kind(value)
    if isinstance(value, Module) and name in value.members:
        return value.members[name]
    if name == "__name__" and isinstance(value, Class | Function | Native):
        return value.name
    if isinstance(value, Class | Instance | Super | Named) and (entry := classes.member(value, name)):
        return entry[0]
    if isinstance(value, Property) and name == "setter":
        return classes.setter(value)
    if isinstance(value, ImagePatch) and name in value.own_attributes:
        return value.own_attributes[name]
    if isinstance(value, Native) and value.type and (methods := METHODS.get(value.name)) and name in methods:
        return Native(name, _of_type(value, methods[name]), value.name in _TRACED)
    if name in ATTRIBUTES.get(type_name, {}):
        return ATTRIBUTES[type_name][name](value)
    if name in METHODS.get(type_name, {}):
        return Native(name, METHODS[type_name][name], type_name in _TRACED, (value,))
    if isinstance(value, Native) and (value.name, name) in _OF_FUNCTIONS:
        return Native(name, _OF_FUNCTIONS[value.name, name])
    if name in _real(value, type_name):
        raise Unsupported(f"{type_name} has no attribute {name!r} here")
    names = (
        sorted(value.members)
        if isinstance(value, Module)
        else [*ATTRIBUTES.get(type_name, {}), *METHODS.get(type_name, {})]
    )
    hint = nearest(name, names) if names else "it has no attributes"
    raise ProgramFault(f"{type_name} has no attribute {name!r}; {hint}", kind="AttributeError")


def _real(value: object, type_name: str) -> frozenset[str]:
    """The attributes that Python's own value of the kind has."""
    if isinstance(value, Module):
        return value.real
    typed = _REAL.get(value.name, frozenset()) if isinstance(value, Native) and value.type else frozenset()
    return typed | _REAL.get(type_name, frozenset())


def _from_keys(machine: Machine, names: object, value: object = None, /) -> dict[object, object]:
    items = collect(names, machine.meter)
    return {key(name, machine.meter): value for name in items}


def _chained(machine: Machine, iterables: object, /) -> Lazy:
    return Lazy(item for values in iterate(iterables, machine.meter) for item in iterate(values, machine.meter))


def _translation(machine: Machine, sources: object, targets: str = "", gone: str = "", /) -> dict[object, object]:
    if isinstance(sources, dict):
        return {ord(name) if isinstance(name, str) else name: item for name, item in sources.items()}
    if not all(isinstance(text, str) for text in (sources, targets, gone)):
        raise ProgramFault("maketrans takes texts, or a dictionary", kind="TypeError")
    machine.meter.length(len(str(sources)) + len(gone))
    table: dict[Any, Any] = str.maketrans(str(sources), targets, gone)
    return table


# What functions and types have as attributes.
_OF_FUNCTIONS: dict[tuple[str, str], Callable[..., object]] = {
    ("dict", "fromkeys"): _from_keys,
    ("chain", "from_iterable"): _chained,
    ("str", "maketrans"): _translation,
}


def _translate(machine: Machine, value: str, table: dict[object, object], /) -> str:
    if not isinstance(table, dict):
        raise ProgramFault(f"translate takes a dictionary, not {kind(table)}", kind="TypeError")
    machine.meter.step(1 + len(value) // 4)
    entries = (table.get(ord(letter), letter) for letter in value)
    letters = [chr(entry) if isinstance(entry, int) else entry for entry in entries if entry is not None]
    return _join(machine, "", letters)


def _of_type(type_: Native, method: Callable[..., object]) -> Callable[..., object]:
    """A method that is read from its type: `str.lower` takes the text as its first argument."""

    def run(machine: Machine, value: object = None, /, *arguments: object, **named: object) -> object:
        if not isinstance(value, type_.type):
            raise ProgramFault(f"a method of {type_.name} cannot take {kind(value)}", kind="TypeError")
        return method(machine, value, *arguments, **named)

    return run


def _plain(method: Callable[..., object]) -> Callable[..., object]:
    """A method of Python's whose cost is about the length of what it takes and gives."""

    def run(machine: Machine, value: Any, /, *arguments: object, **named: object) -> object:
        machine.meter.step(1 + len(value) // 64)
        return method(value, *arguments, **named)

    return run


def _replace(machine: Machine, value: str, old: str, new: str, count: int = -1, /) -> str:
    times = value.count(old) if count < 0 else min(value.count(old), count)
    machine.meter.text(len(value) + times * (len(new) - len(old)))
    machine.meter.step(1 + len(value) // 64)
    return value.replace(old, new, count)


def _padded(method: Callable[..., str]) -> Callable[..., str]:

    def run(machine: Machine, value: str, width: int, /, *fill: str) -> str:
        machine.meter.text(max(len(value), width))
        return method(value, width, *fill)

    return run


def _join(machine: Machine, value: str, items: object, /) -> str:
    parts = collect(items, machine.meter)
    if not all(isinstance(part, str) for part in parts):
        raise ProgramFault("join takes texts only; use str() on each", kind="TypeError")
    machine.meter.text(sum(map(len, parts)) + len(value) * max(len(parts) - 1, 0))
    return value.join(parts)


_TEXT = (
    "lower upper title capitalize strip lstrip rstrip split splitlines startswith endswith isdigit isdecimal "
    "isnumeric isalpha count find index rfind rindex rsplit partition rpartition removeprefix removesuffix casefold "
    "swapcase isalnum isspace isupper islower istitle"
)
METHODS["str"] = (
    {name: _plain(getattr(str, name)) for name in _TEXT.split()}
    | {method.__name__: _padded(method) for method in (str.zfill, str.ljust, str.rjust, str.center)}
    | by_name(_replace, _join, _translate)
    | {
        "format": lambda machine, value, /, *values, **named: filled(value, values, named, machine.meter),
    }
)


def _append(machine: Machine, value: list[object], item: object, /) -> None:
    machine.meter.grow(len(value) + 1)
    value.append(item)


def _extend(machine: Machine, value: list[object], items: object, /) -> None:
    for item in list(items) if items is value else iterate(items, machine.meter):
        _append(machine, value, item)


def _insert(machine: Machine, value: list[object], index: int, item: object, /) -> None:
    machine.meter.step(1 + len(value) // 64)
    machine.meter.grow(len(value) + 1)
    value.insert(index, item)


def _pop(machine: Machine, value: list[object], index: int = -1, /) -> object:
    machine.meter.step(1 + len(value) // 64)
    return value.pop(index)


def _remove(machine: Machine, value: list[object], item: object, /) -> None:
    weigh(value, machine.meter)
    value.remove(item)


def _index(machine: Machine, value: list[object] | tuple[object, ...], item: object, /) -> int:
    for number, other in enumerate(value):
        if item is other or equal(item, other, machine.meter):
            return number
        machine.meter.step()
    raise ProgramFault("index: the value is not there", kind="ValueError")


def _count(machine: Machine, value: list[object] | tuple[object, ...], item: object, /) -> int:
    weigh(value, machine.meter)
    return value.count(item)


def _sort(machine: Machine, value: list[object], /, *, key: object = None, reverse: object = False) -> None:
    items = list(value)
    value[:] = [items[number] for number in sort_order(machine, items, key, bool(reverse))]


def _reverse(machine: Machine, value: list[object], /) -> None:
    machine.meter.step(1 + len(value) // 64)
    value.reverse()


def _copy(machine: Machine, value: Any, /) -> object:
    machine.meter.step(1 + len(value) // 64)
    machine.meter.length(len(value))
    kept: Any = type(value) if isinstance(value, (Members, Tally, Queue)) else None
    return kept(value) if kept else value.copy()


def _clear(machine: Machine, value: Any, /) -> None:
    value.clear()


METHODS["list"] = by_name(_append, _extend, _insert, _pop, _remove, _index, _count, _sort, _reverse, _copy, _clear)
METHODS["tuple"] = by_name(_index, _count)


def _set_default(machine: Machine, value: dict[object, object], name: object, default: object = None, /) -> object:
    machine.meter.grow(len(value) + 1)
    return value.setdefault(key(name, machine.meter), default)


def _take(machine: Machine, value: dict[object, object], name: object, /, *default: object) -> object:
    key(name, machine.meter)
    if name not in value and len(default) == 1:
        return default[0]
    return value.pop(name)


def update(machine: Machine, value: Any, other: Any = (), /, **named: object) -> None:
    """Put items into a dictionary or a set, and count them in a `Counter`."""
    if isinstance(value, Tally):
        _tally(machine, value, other, 1)
        _tally(machine, value, named, 1)
        return
    if isinstance(value, dict) and not isinstance(other, dict):
        other = call(FUNCTIONS["dict"], [other], {}, machine)
    pairs = list(other.items()) if isinstance(value, dict) else [(item, None) for item in iterate(other, machine.meter)]
    for name, item in pairs:
        machine.meter.step()
        machine.meter.grow(len(value) + 1)
        if isinstance(value, dict):
            value[name] = item
        else:
            value.add(key(name, machine.meter))
    if named:
        update(machine, value, named)


def _tally(machine: Machine, value: Tally, other: Any, sign: int) -> None:
    counted = isinstance(other, dict)
    for name in list(other) if counted else iterate(other, machine.meter):
        own = key(name, machine.meter)
        more = binary(sign_of("*"), other[name] if counted else 1, sign, machine.meter)
        value[own] = binary(sign_of("+"), value.get(own, 0), more, machine.meter)
        machine.meter.grow(len(value))


def _most_common(machine: Machine, value: Tally, n: int | None = None) -> list[object]:
    pairs = list(value.items())
    order = sort_order(machine, pairs, Native("count", lambda _, pair: pair[1]), reverse=True)
    return [pairs[number] for number in order[:n]]


def _listing(view: Callable[[dict[object, object]], Any]) -> Callable[..., object]:
    """`items`, `keys` and `values` give lists: a view of a dictionary that changes would depend on when it is read."""

    def run(machine: Machine, value: dict[object, object], /) -> list[object]:
        machine.meter.step(1 + len(value) // 16)
        return list(view(value))

    return run


METHODS["dict"] = {
    "get": lambda machine, value, name, default=None, /: value.get(key(name, machine.meter), default),
    "items": _listing(lambda value: value.items()),
    "keys": _listing(lambda value: value.keys()),
    "values": _listing(lambda value: value.values()),
    "pop": _take,
    "setdefault": _set_default,
    **by_name(update, _copy, _clear),
}
METHODS["defaultdict"] = METHODS["dict"]
METHODS["Counter"] = METHODS["dict"] | {
    "most_common": _most_common,
    "total": lambda machine, value, /: call(FUNCTIONS["sum"], [list(value.values())], {}, machine),
    "elements": lambda machine, value, /: Lazy(name for name, count in list(value.items()) for _ in range(count)),
    "subtract": lambda machine, value, other, /: _tally(machine, value, other, -1),
}


METHODS["deque"] = METHODS["list"] | {
    "popleft": lambda machine, value, /: _pop(machine, value, 0),
    "appendleft": lambda machine, value, item, /: _insert(machine, value, 0, item),
}


def _add(machine: Machine, value: Members, item: object, /) -> None:
    value.add(key(item, machine.meter))
    machine.meter.grow(len(value))


def _take_first(machine: Machine, value: Members, /) -> object:
    """Python takes any; here it is the one that came first."""
    for item in value:
        value.discard(item)
        return item
    raise ProgramFault("pop from an empty set", kind="KeyError")


def _with(combine: Callable[[Members, Members], Any]) -> Callable[..., object]:
    def run(machine: Machine, value: Members, other: object, /) -> object:
        items = Members(key(item, machine.meter) for item in iterate(other, machine.meter))
        machine.meter.length(len(value) + len(items))
        machine.meter.step(len(value))
        return combine(value, items)

    return run


METHODS["set"] = {
    "add": _add,
    "discard": lambda machine, value, item, /: value.discard(key(item, machine.meter)),
    "remove": lambda machine, value, item, /: value.remove(key(item, machine.meter)),
    "pop": _take_first,
    **by_name(update, _copy, _clear),
    "isdisjoint": _with(lambda left, right: not any(item in right for item in left)),
    "symmetric_difference": _with(lambda left, right: (left - right) | (right - left)),
    "union": _with(lambda left, right: left | right),
    "intersection": _with(lambda left, right: Members(item for item in left if item in right)),
    "difference": _with(lambda left, right: left - right),
    "issubset": _with(lambda left, right: left <= right),
    "issuperset": _with(lambda left, right: left >= right),
}


METHODS["float"] = {"is_integer": lambda machine, value, /: value.is_integer()}
