"""What a program's classes are made of: their attributes and methods, dataclasses, enumerations and named tuples."""

# ruff: noqa: ARG001, ARG005 - all functions of a table are called alike

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cfeval.cvqa.programs.builtins import call, instantiate
from cfeval.cvqa.programs.image_patch import ATTRIBUTES, METHODS
from cfeval.cvqa.programs.limits import ProgramFault, Unsupported
from cfeval.cvqa.programs.operators import quoted
from cfeval.cvqa.programs.parser import EXCEPTIONS
from cfeval.cvqa.programs.values import (
    Class,
    Function,
    Image,
    ImagePatch,
    Instance,
    Machine,
    Module,
    Named,
    Native,
    Property,
    Super,
    Unbound,
    collect,
    kind,
)


def _extended_only(machine: Machine, /, *values: object) -> None:
    raise Unsupported("Enum and NamedTuple are there to be extended")


ENUMERATION, NAMED_TUPLE = Native("Enum", _extended_only), Native("NamedTuple", _extended_only)
# Classes that a program's class may extend and that add nothing to it.
PLAIN = ("ABC", "Generic", "Protocol")
_COMPARED: tuple[tuple[str, Callable[[Any, Any], bool]], ...] = (
    ("__lt__", lambda left, right: left < right),
    ("__le__", lambda left, right: left <= right),
    ("__gt__", lambda left, right: left > right),
    ("__ge__", lambda left, right: left >= right),
)
_OPTIONS = {"frozen", "order", "eq", "repr", "slots"}


@dataclass(frozen=True, eq=False)
class Field:
    """`dataclasses.field`: a default, or what makes one; `init`: whether it is given when an object is made."""

    default: tuple[object, ...] = ()
    factory: object = None
    init: bool = True


def open_class(name: str, bases: Sequence[object], machine: Machine) -> Class:
    """A class without members yet.

    Raises:
        Unsupported: it extends what is no class of the program, no exception and no enumeration, or several classes.
    """

    def run(function: object, arguments: Sequence[object]) -> Any:
        return call(function, arguments, {}, machine)

    own = [base for base in bases if isinstance(base, Class)]
    exceptions = [base.name for base in bases if isinstance(base, Native) and base.name in EXCEPTIONS]
    classes = (*own, ENUMERATION, NAMED_TUPLE)
    others = [base for base in bases if base not in classes and getattr(base, "name", "") not in (*exceptions, *PLAIN)]
    if others or len(own) + len(exceptions) > 1:
        raise Unsupported(f"a class that extends {kind(others[0]) if others else 'several others'} is not supported")
    machine.meter.length(16)
    base = own[0] if own else None
    exception = exceptions[0] if exceptions else base.exception if base else ""
    return Class(
        name, base, {}, run, machine.meter, exception, ENUMERATION in bases, fields=base.fields if base else ()
    )


def close_class(cls: Class, members: dict[str, object], annotated: Sequence[str], bases: Sequence[object]) -> object:
    """The class with its members; of a named tuple what makes one."""
    cls.members.update(members)
    cls.annotated = tuple(annotated)
    if cls.enumeration:
        count = 0
        for name, value in list(cls.members.items()):
            if isinstance(value, Function | Property | Unbound) or name.startswith("_"):
                continue
            count = value if isinstance(value, int) else count + 1
            member = Instance(cls)
            member.names = {"name": name, "value": count if value is AUTO else value}
            cls.members[name] = member
    if NAMED_TUPLE in bases:
        return named_tuple(cls, cls.annotated)
    return cls


# What `auto()` gives: the next number.
AUTO = object()


def named_tuple(cls: Class, fields: Sequence[str]) -> Native:
    """What makes named tuples of these fields."""
    cls.fields = tuple(fields)

    def run(machine: Machine, /, *values: object, **named: object) -> Named:
        given = {name: cls.members[name] for name in fields if name in cls.members}
        given |= dict(zip(fields, values, strict=False)) | named
        if len(values) > len(fields) or given.keys() != set(fields):
            raise ProgramFault(f"{cls.name} takes ({', '.join(fields)})", kind="TypeError")
        record = Named(given[name] for name in fields)
        record.cls = cls
        return machine.meter.keep(record)

    return Native(cls.name, run, type=(Named,))


def member(value: Instance | Class | Super | Named, name: str) -> tuple[object, ...]:
    """The attribute of an object, class, `super()` or named tuple, as the only item; nothing where there is none."""
    if isinstance(value, Class):
        entry = value.find(name)
        if entry is None:
            return ()
        return (_bound(entry[1], value) if isinstance(entry[1], Unbound) else entry[1],)
    if isinstance(value, Super):
        entry = value.above.find(name) if value.above else None
        return (_bound(entry[1], value.instance),) if entry else _of_object(value, name)
    entry = value.cls.find(name)
    if isinstance(value, Named):
        if name in value.cls.fields:
            return (value[value.cls.fields.index(name)],)
        return (_bound(entry[1], value),) if entry else _of_named(value, name)
    if entry and isinstance(entry[1], Property):
        return (_read(value, name, entry[1]),)
    if name in value.names:
        return (value.names[name],)
    return (_bound(entry[1], value),) if entry else ()


def _read(instance: Instance, name: str, prop: Property) -> object:
    if prop.cached and name in instance.names:
        return instance.names[name]
    result = instance.cls.call(prop.get, (instance,))
    if prop.cached:
        instance.names[name] = result
    return result


def _bound(entry: object, instance: Instance | Class | Named) -> object:
    """A method with its object; what is no function as it is."""
    if isinstance(entry, Unbound):
        cls = instance if isinstance(instance, Class) else instance.cls
        return _bound(entry.function, cls) if entry.of_class else entry.function
    if not isinstance(entry, Function | Native):
        return entry
    function: Function | Native = entry

    def run(machine: Machine, /, *values: object, **named: object) -> object:
        return call(function, [instance, *values], named, machine)

    return Native(function.name, run)


def _of_object(value: Super, name: str) -> tuple[object, ...]:
    """`super().__init__` of a class above which there is only an exception, or nothing."""

    def run(machine: Machine, /, *values: object) -> None:
        if value.exception:
            value.instance.names["args"] = values
        elif values:
            raise ProgramFault("object.__init__() takes no arguments", kind="TypeError")

    return (Native(name, run),) if name in ("__init__", "__post_init__") else ()


def _of_named(value: Named, name: str) -> tuple[object, ...]:
    def as_dict(machine: Machine, /) -> dict[object, object]:
        return dict(zip(value.cls.fields, value, strict=True))

    def replaced(machine: Machine, /, **named: object) -> object:
        given: dict[str, Any] = dict(zip(value.cls.fields, value, strict=True)) | named
        return named_tuple(value.cls, value.cls.fields).run(machine, **given)

    offered: dict[str, Callable[..., object]] = {"_asdict": as_dict, "_replace": replaced}
    if name == "_fields":
        return (value.cls.fields,)
    return (Native(name, offered[name]),) if name in offered else ()


def set_member(value: object, name: str, new: object, machine: Machine) -> None:
    """`value.name = new`."""
    if isinstance(value, Instance):
        entry = value.cls.find(name)
        if entry and isinstance(entry[1], Property) and not entry[1].cached:
            if entry[1].set is None:
                raise ProgramFault(f"attribute {name!r} cannot be set", kind="AttributeError")
            value.cls.call(entry[1].set, (value, new))
            return
        if value.cls.options.get("frozen"):
            raise ProgramFault(f"{value.cls.name} is frozen; {name!r} cannot be set", kind="AttributeError")
        names = value.names
    elif isinstance(value, Class):
        names = value.members
    elif isinstance(value, ImagePatch) and name not in ATTRIBUTES and name not in METHODS:
        names = value.own_attributes
    elif isinstance(value, ImagePatch | Image | Function | Module):
        raise Unsupported(f"attribute {name!r} of {kind(value)} cannot be set here")
    else:
        raise ProgramFault(f"a value of type {kind(value)} takes no attributes", kind="AttributeError")
    machine.meter.grow(len(names) + 1)
    names[name] = new


def delete_member(value: object, name: str) -> None:
    """`del value.name`."""
    names = (
        value.names if isinstance(value, Instance) else value.own_attributes if isinstance(value, ImagePatch) else {}
    )
    if name not in names:
        raise ProgramFault(f"there is no attribute {name!r} to delete", kind="AttributeError")
    del names[name]


def super_of(cls: object, instance: object) -> Super:
    """What `super()` gives in a method of a class."""
    if not isinstance(cls, Class) or not isinstance(instance, Instance):
        raise ProgramFault("super() belongs in a method of an object", kind="RuntimeError")
    return Super(cls.base, instance, cls.exception)


# Dataclasses


def _field(machine: Machine, /, **given: object) -> Field:
    unknown = given.keys() - {"default", "default_factory", "init", "repr", "compare"}
    if unknown or given.get("repr", True) is not True or given.get("compare", True) is not True:
        raise Unsupported("field takes default, default_factory and init here")
    default = (given["default"],) if "default" in given else ()
    return Field(default, given.get("default_factory"), bool(given.get("init", True)))


def _dataclass(machine: Machine, cls: object = None, /, **options: object) -> object:
    if options.keys() - _OPTIONS:
        raise Unsupported(f"dataclass takes {', '.join(sorted(_OPTIONS))} here")
    if cls is None:
        return Native("dataclass", partial(_dataclass, **options))
    if not isinstance(cls, Class):
        raise ProgramFault(f"dataclass takes a class, not {kind(cls)}", kind="TypeError")
    cls.fields = tuple(dict.fromkeys((*cls.fields, *cls.annotated)))
    cls.options = dict(options)
    for name in cls.annotated:
        if isinstance(cls.members.get(name), list | dict):
            raise ProgramFault(f"a changing default for {name!r}; use field(default_factory=…)", kind="ValueError")
    methods: dict[str, Callable[..., object]] = {"__init__": _init}
    if options.get("repr", True):
        methods["__repr__"] = _shown
    if options.get("eq", True):
        methods["__eq__"] = _same
        methods |= {"__hash__": lambda machine, self, /: hash(_values(self))} if options.get("frozen") else {}
    if options.get("order"):
        methods |= {name: _ordered(better) for name, better in _COMPARED}
    for name, run in methods.items():
        cls.members.setdefault(name, Native(name, _for_objects(run)))
    return cls


def _for_objects(run: Callable[..., object]) -> Callable[..., object]:
    """A method that is only done on an object of a dataclass, however it is called."""

    def checked(machine: Machine, self: object, /, *values: object, **named: object) -> object:
        return run(machine, _record(self), *values, **named)

    return checked


def _init(machine: Machine, self: Instance, /, *values: object, **named: object) -> None:
    cls = self.cls
    fields = [name for name in cls.fields if not (isinstance(field := cls.members.get(name), Field) and not field.init)]
    given = dict(zip(fields, values, strict=False))
    if len(values) > len(fields) or given.keys() & named.keys() or named.keys() - set(fields):
        raise ProgramFault(f"{cls.name} takes ({', '.join(fields)}) and was made otherwise", kind="TypeError")
    given |= named
    for name in cls.fields:
        entry = cls.find(name)
        if name in given:
            self.names[name] = given[name]
        elif entry and not isinstance(entry[1], Field):
            self.names[name] = entry[1]
        elif entry and isinstance(entry[1], Field) and entry[1].factory is not None:
            self.names[name] = call(entry[1].factory, (), {}, machine)
        elif entry and isinstance(entry[1], Field) and entry[1].default:
            self.names[name] = entry[1].default[0]
        elif name in fields:
            raise ProgramFault(f"{cls.name} needs {name!r}", kind="TypeError")
    if self.has("__post_init__"):
        self.invoke("__post_init__")


def _values(value: Instance) -> tuple[object, ...]:
    return tuple(value.names.get(name) for name in value.cls.fields)


def _shown(machine: Machine, self: Instance, /) -> str:
    parts = [f"{name}={quoted(self.names.get(name), machine.meter)}" for name in self.cls.fields]
    return machine.meter.keep(f"{self.cls.name}({', '.join(parts)})")


def _same(machine: Machine, self: Instance, other: object, /) -> bool:
    machine.meter.step(len(self.names))
    return isinstance(other, Instance) and other.cls is self.cls and _values(self) == _values(other)


def _ordered(better: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    def run(machine: Machine, self: Instance, other: object, /) -> bool:
        if not isinstance(other, Instance) or other.cls is not self.cls:
            raise ProgramFault(f"{self.cls.name} cannot be compared with {kind(other)}", kind="TypeError")
        machine.meter.step(len(self.names))
        return better(_values(self), _values(other))

    return run


def _record(value: object) -> Instance:
    if not isinstance(value, Instance):
        raise ProgramFault(f"an object of a dataclass is needed, not {kind(value)}", kind="TypeError")
    return value


def _as_dict(machine: Machine, value: object, /) -> dict[object, object]:
    record = _record(value)
    machine.meter.length(len(record.names))
    return {name: _plain(record.names.get(name), machine) for name in record.cls.fields}


def _plain(value: object, machine: Machine) -> object:
    machine.meter.step()
    if isinstance(value, Instance) and value.cls.fields:
        return _as_dict(machine, value)
    return [_plain(item, machine) for item in value] if isinstance(value, list) else value


def _replaced(machine: Machine, value: object, /, **named: object) -> Instance:
    record = _record(value)
    return instantiate(record.cls, (), {name: record.names.get(name) for name in record.cls.fields} | named, machine)


DATACLASSES: dict[str, Callable[..., object]] = {
    "dataclass": _dataclass,
    "field": _field,
    "asdict": _as_dict,
    "astuple": lambda machine, value, /: machine.meter.keep(_values(_record(value))),
    "replace": _replaced,
}


def _named_tuple(machine: Machine, name: str, fields: object, /) -> Native:
    wanted = fields.replace(",", " ").split() if isinstance(fields, str) else collect(fields, machine.meter)
    if not all(isinstance(part, str) for part in wanted):
        raise ProgramFault("namedtuple takes names", kind="TypeError")
    return named_tuple(open_class(str(name), (), machine), wanted)


def setter(prop: Property) -> Native:
    """`@name.setter`."""

    def run(machine: Machine, function: object, /) -> Property:
        return Property(prop.get, function)

    return Native("setter", run)


def _same_function(machine: Machine, function: object, /) -> object:
    return function


METHOD_KINDS: dict[str, Callable[..., object]] = {
    "property": lambda machine, function, /: Property(function),
    "staticmethod": lambda machine, function, /: Unbound(function, False),
    "classmethod": lambda machine, function, /: Unbound(function, True),
}
ENUM: dict[str, object] = {
    "Enum": ENUMERATION,
    "auto": Native("auto", lambda machine, /: AUTO),
    "unique": Native("unique", _same_function),
}
ABSTRACT: dict[str, object] = {
    "ABC": Native("ABC", _same_function),
    "abstractmethod": Native("abstractmethod", _same_function),
}
namedtuple, cached_property = _named_tuple, lambda machine, function, /: Property(function, cached=True)
