"""Classes that programs define, and their instances. Nothing here is a class of Python's: attributes are looked up in
dictionaries of the program's own, and special methods are the program's functions, run by the interpreter."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cfeval.cvqa.programs.limits import Meter, ProgramFault

_METHODS = (
    *("init", "post_init", "str", "repr", "eq", "ne", "lt", "le", "gt", "ge", "hash", "bool", "len", "iter", "next"),
    *("contains", "call", "getitem", "setitem", "enter", "exit", "add", "sub", "mul", "truediv", "floordiv", "mod"),
    *("radd", "rsub", "rmul", "rtruediv"),
)
# The special methods that the interpreter heeds; a class with another is refused.
SPECIAL = frozenset(f"__{name}__" for name in _METHODS)


@dataclass(eq=False)
class Class:
    """A class of a program.

    `call` calls a function of the program. `exception` is the built-in exception it extends, `enumeration` whether its
    members are the only instances, `fields` a dataclass's names in order, `options` its options.
    """

    name: str
    base: "Class | None"
    members: dict[str, object]
    call: Callable[[object, Sequence[object]], Any]
    meter: Meter
    exception: str = ""
    enumeration: bool = False
    annotated: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    options: dict[str, object] = field(default_factory=dict)

    def find(self, name: str) -> tuple["Class", object] | None:
        """The class in the line of ancestors that has a member, and the member."""
        ancestor: Class | None = self
        while ancestor is not None:
            if name in ancestor.members:
                return ancestor, ancestor.members[name]
            ancestor = ancestor.base
        return None

    def extends(self, other: "Class") -> bool:
        """Whether it is that class or one derived from it."""
        ancestor: Class | None = self
        while ancestor is not None and ancestor is not other:
            ancestor = ancestor.base
        return ancestor is not None


class Instance:
    """An object of a program's class. Comparing, hashing and testing it calls the program's special methods."""

    __slots__ = ("cls", "names")

    def __init__(self, cls: Class) -> None:
        self.cls = cls
        self.names: dict[str, object] = {}

    def has(self, name: str) -> bool:
        """Whether its class defines a special method."""
        return self.cls.find(name) is not None

    def invoke(self, name: str, *arguments: object) -> Any:
        """Call a special method."""
        result = self.cls.find(name)
        if result is None:
            raise ProgramFault(f"an object of {self.cls.name} has no {name}", kind="TypeError")
        return self.cls.call(result[1], (self, *arguments))

    def _compared(self, name: str, other: object) -> Any:
        self.cls.meter.step()
        return self.invoke(name, other) if self.has(name) else NotImplemented

    def __eq__(self, other: object) -> Any:
        """By the program's `__eq__`, else by identity."""
        result = self._compared("__eq__", other)
        return self is other if result is NotImplemented else result

    def __hash__(self) -> int:
        """By the program's `__hash__`; where there is only an `__eq__`, none."""
        if self.has("__hash__"):
            return hash(self.invoke("__hash__"))
        if self.has("__eq__"):
            raise ProgramFault(f"an object of {self.cls.name} cannot be a key", kind="TypeError")
        return object.__hash__(self)

    def __lt__(self, other: object) -> Any:
        """By the program's method of that name."""
        return self._compared("__lt__", other)

    def __le__(self, other: object) -> Any:
        """By the program's method of that name."""
        return self._compared("__le__", other)

    def __gt__(self, other: object) -> Any:
        """By the program's method of that name."""
        return self._compared("__gt__", other)

    def __ge__(self, other: object) -> Any:
        """By the program's method of that name."""
        return self._compared("__ge__", other)

    def __bool__(self) -> bool:
        """By the program's `__bool__` or `__len__`, else true."""
        if self.has("__bool__"):
            return bool(self.invoke("__bool__"))
        return not self.has("__len__") or len(self) > 0

    def __len__(self) -> int:
        """By the program's `__len__`."""
        length = self.invoke("__len__")
        if not isinstance(length, int):
            raise ProgramFault("__len__ returns an integer", kind="TypeError")
        return int(length)

    def items(self) -> Iterator[object]:
        """What iterating gives: of `__iter__` that returns an object with `__next__`, or is itself one."""
        while True:
            try:
                yield self.invoke("__next__")
            except ProgramFault as fault:
                if fault.kind != "StopIteration":
                    raise
                return


class Named(tuple[Any, ...]):
    """A named tuple; `cls` has its fields."""

    cls: Class


@dataclass(frozen=True, eq=False)
class Property:
    """A method that is read like an attribute; `cached`: once for each object."""

    get: object
    set: object = None
    cached: bool = False


@dataclass(frozen=True, eq=False)
class Unbound:
    """A method that is called without an object, or with its class."""

    function: object
    of_class: bool


@dataclass(frozen=True, eq=False)
class Super:
    """What `super()` gives: the members of the classes above one, for an object."""

    above: Class | None
    instance: Instance
    exception: str


@dataclass(frozen=True)
class Suppressed:
    """`contextlib.suppress`: a block's faults of these kinds are dropped."""

    kinds: tuple[object, ...]
