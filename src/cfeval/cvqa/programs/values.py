"""What a program's variables can hold, beside None, booleans, numbers, texts, lists, tuples and dictionaries.

Every value is of one of these classes, so an operation can name what it takes. Nothing in them depends on addresses or
on the order of hashes: the same program gives the same trace. Classes that programs define are no classes of Python's:
attributes are looked up in dictionaries of the program's own, and special methods are the program's functions.
"""

import ast
import builtins
from collections.abc import Callable, Hashable, Iterable, Iterator, MutableSet, Sequence
from dataclasses import dataclass, field
from functools import partialmethod
from typing import Any

from cfeval.cvqa.programs.limits import Meter, ProgramFault, Trace, Unsupported
from cfeval.cvqa.programs.regex import Pattern, Spans
from cfeval.cvqa.programs.vision import Eyes, Found, View

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

    __lt__ = partialmethod(_compared, "__lt__")
    __le__ = partialmethod(_compared, "__le__")
    __gt__ = partialmethod(_compared, "__gt__")
    __ge__ = partialmethod(_compared, "__ge__")

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


# From here on many numbers have one hash, and a dictionary of them takes seconds between two looks at the clock.
_LARGEST_KEY = 2**61 - 1
# Booleans are integers, as in Python.
NUMBERS = (int, float)


class Members(MutableSet[Hashable]):
    """A set that remembers the order in which things came in."""

    def __init__(self, items: Iterable[Hashable] = ()) -> None:
        self._items = dict.fromkeys(items)

    def __contains__(self, item: object) -> bool:
        """Whether something is in it."""
        return item in self._items

    def __iter__(self) -> Iterator[Hashable]:
        """In the order in which things came in."""
        return iter(self._items)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._items)

    def add(self, value: Hashable) -> None:
        """Put in."""
        self._items[value] = None

    def discard(self, value: Hashable) -> None:
        """Take out, where it is in."""
        self._items.pop(value, None)


class Tally(dict[Any, Any]):
    """`Counter`: a dictionary that has 0 for what is not in it."""


class Filled(dict[Any, Any]):
    """`defaultdict`: a dictionary that has what `make` gives for what is not in it."""

    make: object = None


class Queue(list[Any]):
    """`deque`: a list that is also taken from and added to on the left."""


@dataclass(frozen=True)
class Error:
    """An exception of a program: what `raise` raises and `except … as` names; `kind` is Python's name of it."""

    kind: str
    message: str


@dataclass(frozen=True, eq=False)
class Match:
    """What a pattern found in a text: start and end of all of it, and of each group."""

    text: str
    pattern: Pattern
    spans: Spans


@dataclass(eq=False)
class Lazy:
    """An iterator: of a generator expression, `enumerate`, `zip`, `map`, `filter` or `reversed`."""

    items: Iterator[object]


@dataclass(frozen=True, eq=False)
class Image:
    """Pixels without a place of their own: the whole image, or `cropped_image` of a patch. `view` shows them."""

    view: View


@dataclass(frozen=True, eq=False)
class ImagePatch:
    """A part of an image as ViperGPT's programs see it: whole pixels, the y axis points UP, `upper` > `lower`.

    (`x`, `y`) is the pixel of `View`'s coordinates, whose y points down, at which the patch's own coordinates are zero.
    """

    left: int
    lower: int
    right: int
    upper: int
    x: float
    y: float
    source: View
    found: Found | None = None
    own_attributes: dict[str, object] = field(default_factory=dict)
    """Attributes of the program's own."""

    def view(self) -> View:
        """The part, for vision operations."""
        box = (self.x + self.left, self.y - self.upper, self.x + self.right, self.y - self.lower)
        return View(self.source.image, box, self.found, self.source.item, self.source.seed)


@dataclass(frozen=True, eq=False)
class Native:
    """A function offered to programs. `run` takes the machine first, then the program's arguments.

    `receiver` is the value whose method it is; `type` is what `isinstance` takes it for; a `traced` call is recorded.
    """

    name: str
    run: Callable[..., object]
    traced: bool = False
    receiver: tuple[object, ...] = ()
    type: tuple[type, ...] = ()


def by_name(*functions: Callable[..., object]) -> dict[str, Callable[..., object]]:
    """Functions by the names that programs call them by: their own, without the underscore in front."""
    return {function.__name__.removeprefix("_"): function for function in functions}


@dataclass(frozen=True, eq=False)
class Function:
    """A function or lambda that a program defines; `body` runs it in the frame of a call.

    `rest` and `named` are the names of `*rest` and `**named`, empty where there are none; `only` are the names that are
    given by name only; `by_name` are the defaults of those.
    """

    name: str
    names: tuple[str, ...]
    defaults: tuple[object, ...]
    body: Callable[["Frame"], object]
    outer: "Frame"
    local: frozenset[str] = frozenset()
    rest: str = ""
    named: str = ""
    only: tuple[str, ...] = ()
    by_name: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, eq=False)
class Module:
    """A module that can be imported: functions and constants by name."""

    name: str
    members: dict[str, object]
    real: frozenset[str] = frozenset()
    """What Python's own module of the name has."""


@dataclass
class Machine:
    """The state of one run: what was used, what was called, how deep functions are in each other, at which line."""

    meter: Meter
    trace: Trace
    eyes: Eyes
    level: int = 0
    line: int = 0
    read: frozenset[str] = frozenset()
    """The names whose values the program needs, beyond annotations."""
    surface: dict[str, object] = field(default_factory=dict)
    """What the language offers beside Python's, by name."""
    handled: list[ProgramFault] = field(default_factory=list)


@dataclass(slots=True)
class Frame:
    """The variables of a call, and the frame in which its function was defined.

    `local` are the names that the function assigns somewhere: as in Python, they are its own from its first line on.
    """

    machine: Machine
    outer: "Frame | None" = None
    names: dict[str, object] = field(default_factory=dict)
    local: frozenset[str] = frozenset()
    comprehension: bool = False
    function: "Function | None" = None
    methods: "Frame | None" = None
    """Of a class's body: the frame in which its functions are defined."""
    shared: dict[str, "Frame"] = field(default_factory=dict)
    """The frames to which `global` and `nonlocal` names belong."""

    def store(self, name: str, value: object) -> None:
        """Give a name a value."""
        self.shared.get(name, self).names[name] = value

    def find(self, name: str) -> object:
        """The value of a name, or a fault."""
        frame: Frame | None = self.shared.get(name, self)
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            if name in frame.local:
                raise ProgramFault(f"{name!r} is used before it has a value", kind="UnboundLocalError")
            frame = frame.outer
        if name in _BUILTINS:
            raise Unsupported(f"Python's {name!r} is not supported")
        raise ProgramFault(f"{name!r} is not defined", kind="NameError")


_BUILTINS = frozenset(name for name in dir(builtins) if name != "_")


KINDS: tuple[tuple[Any, str], ...] = (
    (bool, "bool"),
    (int, "int"),
    (float, "float"),
    (str, "str"),
    (Queue, "deque"),
    (list, "list"),
    (Named, "named tuple"),
    (tuple, "tuple"),
    (Tally, "Counter"),
    (Filled, "defaultdict"),
    (dict, "dict"),
    (Members, "set"),
    (range, "range"),
    (type(None), "None"),
    (ImagePatch, "ImagePatch"),
    (Image, "image"),
    (View, "image"),
    (Found, "box"),
    (Lazy, "iterator"),
    (Native, "function"),
    (Function, "function"),
    (Module, "module"),
    (Error, "exception"),
    (Match, "match"),
    (Pattern, "pattern"),
    (Class, "class"),
    (Instance, "object"),
    (Super, "super"),
    (Property | Unbound, "method"),
    (Suppressed, "context manager"),
    (type(...), "ellipsis"),
)


def kind(value: object) -> str:
    """What a value is called in a fault."""
    return next((name for types, name in KINDS if isinstance(value, types)), "value")


def iterate(value: object, meter: Meter) -> Iterator[Any]:
    """Go through a value, a step for each item."""
    if isinstance(value, Lazy):
        items = value.items
    elif isinstance(value, Instance) and value.has("__iter__"):
        made = value.invoke("__iter__")
        return _counted(made.items(), meter) if isinstance(made, Instance) else iterate(made, meter)
    elif isinstance(value, Class) and value.enumeration:
        items = iter([member for member in value.members.values() if isinstance(member, Instance)])
    elif isinstance(value, str | list | tuple | dict | Members | range):
        items = iter(value)
    else:
        raise ProgramFault(f"a value of type {kind(value)} cannot be iterated over", kind="TypeError")
    return _counted(items, meter)


def _counted(items: Iterator[object], meter: Meter) -> Iterator[object]:
    for item in items:
        meter.step()
        yield item


def collect(value: object, meter: Meter) -> list[Any]:
    """The items of a value as a new list, stopped at the longest that is allowed."""
    items: list[object] = []
    for item in iterate(value, meter):
        items.append(item)
        meter.grow(len(items))
    return items


def weigh(value: object, meter: Meter, level: int = 0) -> None:
    """Take the steps that comparing, hashing or writing out a value costs, before Python does it in one go.

    Values can hold one list many times over, or themselves; what is nested too deeply is refused.
    """
    if isinstance(value, str):
        meter.step(1 + len(value) // 256)
        return
    meter.step()
    if isinstance(value, list | tuple | Members | dict):
        if level > meter.budget.depth:
            raise Unsupported(f"values nested more than {meter.budget.depth} deep")
        for item in value:
            weigh(item, meter, level + 1)
        if isinstance(value, dict):
            for item in value.values():
                weigh(item, meter, level + 1)


def key(value: object, meter: Meter) -> Hashable:
    """A value that can be a key of a dictionary or a member of a set."""
    if isinstance(value, tuple):
        weigh(value, meter)
        for item in value:
            key(item, meter)
    elif isinstance(value, int | float) and abs(value) >= _LARGEST_KEY:
        raise Unsupported("a number of 2**61 or more cannot be a key")
    elif not isinstance(value, str | int | float | ImagePatch | Native | Function | Class | Instance | None):
        raise ProgramFault(f"a value of type {kind(value)} cannot be a key", kind="TypeError")
    return value


def stored_names(body: list[ast.stmt]) -> frozenset[str]:
    """The names that statements assign, outside of functions, lambdas and comprehensions within them."""
    names: set[str] = set()
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
            continue
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
        elif isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            continue
        stack.extend(ast.iter_child_nodes(node))
    # The names that `global` and `nonlocal` say are of an outer function or of the module.
    nodes = (node for statement in body for node in ast.walk(statement))
    return frozenset(names) - frozenset(
        name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
    )
