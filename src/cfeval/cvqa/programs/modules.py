"""The modules that programs may import, by lists of names: what programs written for a question need of them.

Nothing is Python's own module: each function is of this package and takes the steps that it costs.
"""

# ruff: noqa: ARG001 - all functions of a table are called alike

import itertools
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from cfeval.cvqa.programs import regex_module
from cfeval.cvqa.programs.builtins import FUNCTIONS
from cfeval.cvqa.programs.calls import call
from cfeval.cvqa.programs.expressions import item_of
from cfeval.cvqa.programs.limits import ProgramFault
from cfeval.cvqa.programs.math_module import MATH
from cfeval.cvqa.programs.methods import attribute, update
from cfeval.cvqa.programs.operators import binary, sign_of
from cfeval.cvqa.programs.parser import IMPORTED
from cfeval.cvqa.programs.values import (
    NUMBERS,
    Filled,
    Frame,
    Lazy,
    Machine,
    Module,
    Native,
    Queue,
    Tally,
    collect,
    iterate,
    kind,
)


def _counter(machine: Machine, values: object = (), /, **named: object) -> Tally:
    made = Tally()
    update(machine, made, values)
    update(machine, made, named)
    return made


def _filled(machine: Machine, make: object = None, values: object = (), /) -> Filled:
    made = Filled()
    made.make = make
    if isinstance(values, dict):
        update(machine, made, values)
    return made


def _deque(machine: Machine, values: object = (), /, maxlen: object = None) -> Queue:
    if maxlen is not None:
        raise ProgramFault("deque takes no maxlen here", kind="TypeError")
    return Queue(collect(values, machine.meter))


def _lazily(function: Callable[..., Iterator[Any]], whole: bool = True) -> Callable[..., Lazy]:
    """Of `itertools`, on at most 8 lists that are read at once where `whole`; every item that comes out is a step."""

    def run(machine: Machine, /, *values: Any, **named: Any) -> Lazy:
        if whole:
            _small(len(values))
        read: list[Any] = []
        for value in values:
            listed = not isinstance(value, (*NUMBERS, type(None)))
            read.append(value if not listed else collect(value, machine.meter) if whole else _items(value, machine))
        return Lazy(function(*read, **named))

    return run


def _items(value: object, machine: Machine) -> Iterator[Any]:
    return iterate(value, machine.meter)


def _small(number: object) -> int:
    """How many at a time are combined."""
    if not isinstance(number, int) or not 0 <= number <= 8:
        raise ProgramFault("at most 8 at a time", kind="ValueError")
    return number


def _permutations(values: list[Any], r: object = None) -> Iterator[Any]:
    return itertools.permutations(values, _small(len(values) if r is None else r))


def _groupby(machine: Machine, values: object, /, key: object = None) -> Lazy:
    groups: list[tuple[object, list[object]]] = []
    for item in collect(values, machine.meter):
        name = item if key is None else call(key, [item], {}, machine)
        if not groups or groups[-1][0] != name:
            groups.append((name, []))
        groups[-1][1].append(item)
    return Lazy(iter(groups))


def _accumulate(machine: Machine, values: object, /, func: object = None) -> Lazy:
    def add(one: object, other: object) -> object:
        return (
            binary(sign_of("+"), one, other, machine.meter) if func is None else call(func, [one, other], {}, machine)
        )

    return Lazy(itertools.accumulate(iterate(values, machine.meter), add))


def _reduce(machine: Machine, function: object, values: object, /, *start: object) -> object:
    items = iterate(values, machine.meter)
    missing = object()
    result = start[0] if start else next(items, missing)
    if result is missing:
        raise ProgramFault("reduce of no values", kind="TypeError")
    for item in items:
        result = call(function, [result, item], {}, machine)
    return result


def _partial(machine: Machine, function: object, /, *first: object, **given: object) -> Native:
    def run(machine: Machine, /, *values: object, **named: object) -> object:
        return call(function, [*first, *values], given | named, machine)

    return Native("partial", run)


def _statistic(function: Callable[[list[Any]], object]) -> Callable[..., object]:
    """Of numbers; `mode` also of texts."""

    def run(machine: Machine, values: object, /) -> object:
        items = collect(values, machine.meter)
        wanted = (*NUMBERS, str) if function is statistics.mode else NUMBERS
        if not items or not all(isinstance(item, wanted) for item in items):
            raise ProgramFault(f"{function.__name__} takes numbers, at least one", kind="ValueError")
        machine.meter.step(len(items) * 8)
        return machine.meter.keep(function(items))

    return run


def _itemgetter(machine: Machine, /, *names: object) -> Native:
    def run(machine: Machine, value: object, /) -> object:
        frame = Frame(machine)
        found = [item_of(value, name, frame) for name in names]
        return found[0] if len(found) == 1 else tuple(found)

    return Native("itemgetter", run)


def _attrgetter(machine: Machine, /, *names: str) -> Native:
    def run(machine: Machine, value: object, /) -> object:
        found = [attribute(value, name) for name in names]
        return found[0] if len(found) == 1 else tuple(found)

    return Native("attrgetter", run)


def _operator(sign: str) -> Callable[..., object]:
    def run(machine: Machine, one: object, other: object, /) -> object:
        return binary(sign_of(sign), one, other, machine.meter)

    return run


def _getattr(machine: Machine, value: object, name: str, /, *default: object) -> object:
    try:
        return attribute(value, name)
    except ProgramFault:
        if len(default) == 1:
            return default[0]
        raise


def _hasattr(machine: Machine, value: object, name: str, /) -> bool:
    try:
        attribute(value, name)
    except ProgramFault:
        return False
    return True


def _type(machine: Machine, value: object, /) -> object:
    found = OFFERED.get(kind(value))
    if not isinstance(found, Native) or not found.type:
        raise ProgramFault(f"type of {kind(value)} is not offered; use isinstance", kind="TypeError")
    return found


def _module(name: str, functions: dict[str, Callable[..., object]], **constants: object) -> Module:
    return Module(name, {one: Native(one, run) for one, run in functions.items()} | constants)


def _nothing(machine: Machine, /, *values: object) -> None:
    """What stands in annotations is never evaluated; elsewhere it is nothing."""


_TYPES = ("Any", "Dict", "Iterable", "List", "Optional", "Sequence", "Set", "Tuple", "Union", "Callable", "Literal")
MODULES: dict[str, Module] = {
    "math": MATH,
    "re": regex_module.RE,
    "collections": Module(
        "collections",
        {
            "Counter": Native("Counter", _counter, type=(Tally,)),
            "defaultdict": Native("defaultdict", _filled, type=(Filled,)),
            "deque": Native("deque", _deque, type=(Queue,)),
            "OrderedDict": FUNCTIONS["dict"],
        },
    ),
    "itertools": _module(
        "itertools",
        {
            "chain": _lazily(itertools.chain, whole=False),
            "combinations": _lazily(lambda values, r: itertools.combinations(values, _small(r))),
            "permutations": _lazily(_permutations),
            "product": _lazily(lambda *values, repeat=1: itertools.product(*values, repeat=_small(repeat))),
            "pairwise": _lazily(itertools.pairwise),
            "islice": _lazily(itertools.islice, whole=False),
            "zip_longest": _lazily(itertools.zip_longest, whole=False),
            "groupby": _groupby,
            "accumulate": _accumulate,
        },
    ),
    "functools": _module("functools", {"reduce": _reduce, "partial": _partial}),
    "statistics": _module(
        "statistics",
        {
            function.__name__: _statistic(function)
            for function in (statistics.mean, statistics.fmean, statistics.median, statistics.mode, statistics.pstdev)
        },
    ),
    "operator": _module(
        "operator",
        {
            "itemgetter": _itemgetter,
            "attrgetter": _attrgetter,
            **{name: _operator(sign) for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"))},
        },
    ),
    "typing": Module("typing", {name: Native(name, _nothing, type=(type(None),)) for name in _TYPES}),
    "__future__": _module("__future__", {"annotations": _nothing}),
}
"""Every module by its name."""
assert tuple(MODULES) == IMPORTED
OFFERED: dict[str, object] = (
    FUNCTIONS
    | {name: Native(name, run) for name, run in (("getattr", _getattr), ("hasattr", _hasattr), ("type", _type))}
    | {name: MODULES[name] for name in ("math", "re")}
)
"""What a program has without importing it, beside the surface."""
