"""Attributes and methods of values: own tables by the value's type. No attribute is ever looked up on an object.

Left out on purpose, as they make long texts from short ones or read a text as a format: `format`, `format_map`,
`ljust`, `rjust`, `center`, `zfill`, `expandtabs`, `translate`, `encode`.
"""

# ruff: noqa: ARG001 - all functions of a table are called alike

from collections.abc import Callable
from typing import Any

from cfeval.core.errors import nearest
from cfeval.cvqa.programs import image_patch
from cfeval.cvqa.programs.builtins import sort_order
from cfeval.cvqa.programs.limits import ProgramFault
from cfeval.cvqa.programs.operators import equal
from cfeval.cvqa.programs.values import Machine, Members, Module, Native, collect, iterate, key, kind, weigh

Table = dict[str, Callable[..., object]]

ATTRIBUTES: dict[str, Table] = {"ImagePatch": image_patch.ATTRIBUTES, "image": image_patch.IMAGE_ATTRIBUTES}
"""What is offered as attributes that are no methods, by the value's type; each takes the value."""
METHODS: dict[str, Table] = {"ImagePatch": image_patch.METHODS}
"""Methods by the value's type; each takes the machine, the value, then the program's arguments."""
_TRACED = {"ImagePatch"}


def attribute(value: object, name: str) -> object:
    """`value.name`: of a module, a patch, or a method bound to its value."""
    of = kind(value)
    if isinstance(value, Module) and name in value.members:
        return value.members[name]
    if name in ATTRIBUTES.get(of, {}):
        return ATTRIBUTES[of][name](value)
    if name in METHODS.get(of, {}):
        return Native(name, METHODS[of][name], of in _TRACED, (value,))
    known = sorted(value.members) if isinstance(value, Module) else [*ATTRIBUTES.get(of, {}), *METHODS.get(of, {})]
    hint = nearest(name, known) if known else "it has no attributes"
    raise ProgramFault(f"{of} offers no attribute {name!r}; {hint}", kind="AttributeError")


def _plain(method: Callable[..., object]) -> Callable[..., object]:
    """A method of Python's whose cost is about the length of what it takes and gives."""

    def run(machine: Machine, value: Any, /, *arguments: object) -> object:
        machine.meter.step(1 + len(value) // 64)
        return method(value, *arguments)

    return run


def _replace(machine: Machine, value: str, old: str, new: str, count: int = -1, /) -> str:
    times = value.count(old) if count < 0 else min(value.count(old), count)
    machine.meter.text(len(value) + times * (len(new) - len(old)))
    machine.meter.step(1 + len(value) // 64)
    return value.replace(old, new, count)


def _join(machine: Machine, value: str, items: object, /) -> str:
    parts = collect(items, machine.meter)
    if not all(isinstance(part, str) for part in parts):
        raise ProgramFault("join takes texts only; use str() on each", kind="TypeError")
    machine.meter.text(sum(map(len, parts)) + len(value) * max(len(parts) - 1, 0))
    return value.join(parts)


_TEXT: dict[str, Callable[..., object]] = {
    "lower": str.lower,
    "upper": str.upper,
    "title": str.title,
    "capitalize": str.capitalize,
    "strip": str.strip,
    "lstrip": str.lstrip,
    "rstrip": str.rstrip,
    "split": str.split,
    "splitlines": str.splitlines,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "isdigit": str.isdigit,
    "isdecimal": str.isdecimal,
    "isnumeric": str.isnumeric,
    "isalpha": str.isalpha,
    "count": str.count,
    "find": str.find,
    "index": str.index,
}
METHODS["str"] = {name: _plain(method) for name, method in _TEXT.items()} | {"replace": _replace, "join": _join}


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
    return Members(value) if isinstance(value, Members) else value.copy()


def _clear(machine: Machine, value: Any, /) -> None:
    value.clear()


METHODS["list"] = {
    "append": _append,
    "extend": _extend,
    "insert": _insert,
    "pop": _pop,
    "remove": _remove,
    "index": _index,
    "count": _count,
    "sort": _sort,
    "reverse": _reverse,
    "copy": _copy,
    "clear": _clear,
}
METHODS["tuple"] = {"index": _index, "count": _count}


def _get(machine: Machine, value: dict[object, object], name: object, default: object = None, /) -> object:
    return value.get(key(name, machine.meter), default)


def _set_default(machine: Machine, value: dict[object, object], name: object, default: object = None, /) -> object:
    machine.meter.grow(len(value) + 1)
    return value.setdefault(key(name, machine.meter), default)


def _take(machine: Machine, value: dict[object, object], name: object, /, *default: object) -> object:
    key(name, machine.meter)
    if name not in value and len(default) == 1:
        return default[0]
    return value.pop(name)


def _update(machine: Machine, value: Any, other: Any, /) -> None:
    if isinstance(value, dict) and not isinstance(other, dict):
        raise ProgramFault("update takes a dictionary", kind="TypeError")
    pairs = list(other.items()) if isinstance(value, dict) else [(item, None) for item in iterate(other, machine.meter)]
    for name, item in pairs:
        machine.meter.step()
        machine.meter.grow(len(value) + 1)
        if isinstance(value, dict):
            value[name] = item
        else:
            value.add(key(name, machine.meter))


def _listing(of: Callable[[dict[object, object]], Any]) -> Callable[..., object]:
    """`items`, `keys` and `values` give lists: a view of a dictionary that changes would depend on when it is read."""

    def run(machine: Machine, value: dict[object, object], /) -> list[object]:
        machine.meter.step(1 + len(value) // 16)
        return list(of(value))

    return run


METHODS["dict"] = {
    "get": _get,
    "items": _listing(lambda value: value.items()),
    "keys": _listing(lambda value: value.keys()),
    "values": _listing(lambda value: value.values()),
    "pop": _take,
    "setdefault": _set_default,
    "update": _update,
    "copy": _copy,
    "clear": _clear,
}


def _add(machine: Machine, value: Members, item: object, /) -> None:
    value.add(key(item, machine.meter))
    machine.meter.grow(len(value))


def _discard(machine: Machine, value: Members, item: object, /) -> None:
    value.discard(key(item, machine.meter))


def _remove_member(machine: Machine, value: Members, item: object, /) -> None:
    value.remove(key(item, machine.meter))


def _with(combine: Callable[[Members, Members], Any]) -> Callable[..., object]:
    def run(machine: Machine, value: Members, other: object, /) -> object:
        items = Members(key(item, machine.meter) for item in iterate(other, machine.meter))
        machine.meter.length(len(value) + len(items))
        machine.meter.step(len(value))
        return combine(value, items)

    return run


METHODS["set"] = {
    "add": _add,
    "discard": _discard,
    "remove": _remove_member,
    "update": _update,
    "copy": _copy,
    "clear": _clear,
    "union": _with(lambda one, other: one | other),
    "intersection": _with(lambda one, other: Members(item for item in one if item in other)),
    "difference": _with(lambda one, other: one - other),
    "issubset": _with(lambda one, other: one <= other),
    "issuperset": _with(lambda one, other: one >= other),
}


def _is_integer(machine: Machine, value: float, /) -> bool:
    return value.is_integer()


METHODS["float"] = {"is_integer": _is_integer}
