"""The modules that programs may import, by lists of names: what programs written for a question need of them.

Nothing is Python's own module: each function is of this package and takes the steps that it costs.
"""

# ruff: noqa: ARG001, ARG005 - all functions of a table are called alike

import itertools
import json
import statistics
import string
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import PIL.Image

from cfeval.cvqa.programs import classes, standard_modules
from cfeval.cvqa.programs.builtins import FUNCTIONS, call, sort_order
from cfeval.cvqa.programs.expressions import SUPER, item_of
from cfeval.cvqa.programs.limits import ProgramFault, Unsupported
from cfeval.cvqa.programs.methods import attribute, update
from cfeval.cvqa.programs.operators import binary, quoted, sign_of, written
from cfeval.cvqa.programs.parser import IMPORTED
from cfeval.cvqa.programs.standard_modules import MATH
from cfeval.cvqa.programs.values import (
    NUMBERS,
    Error,
    Filled,
    Frame,
    Function,
    Image,
    Instance,
    Lazy,
    Machine,
    Members,
    Module,
    Native,
    Queue,
    Suppressed,
    Tally,
    by_name,
    collect,
    iterate,
    key,
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
        raise Unsupported("deque takes no maxlen here")
    return Queue(collect(values, machine.meter))


def _lazily(function: Callable[..., Iterator[Any]], whole: bool = True) -> Callable[..., Lazy]:
    """Of `itertools`, on at most 8 lists that are read at once where `whole`; every item that comes out is a step."""

    def run(machine: Machine, /, *values: Any, **named: Any) -> Lazy:
        if whole:
            _small(len(values))
        read: list[Any] = []
        for value in values:
            listed = not isinstance(value, (*NUMBERS, type(None)))
            read.append(
                value if not listed else collect(value, machine.meter) if whole else iterate(value, machine.meter)
            )
        return Lazy(function(*read, **named))

    return run


def _small(number: object) -> int:
    if not isinstance(number, int) or not 0 <= number <= 8:
        raise Unsupported("at most 8 at a time")
    return number


def _groupby(machine: Machine, values: object, /, key: object = None) -> Lazy:
    groups: list[tuple[object, list[object]]] = []
    for item in collect(values, machine.meter):
        name = item if key is None else call(key, [item], {}, machine)
        if not groups or groups[-1][0] != name:
            groups.append((name, []))
        groups[-1][1].append(item)
    return Lazy(iter(groups))


def _accumulate(machine: Machine, values: object, /, func: object = None) -> Lazy:
    def add(item: object, other: object) -> object:
        return (
            binary(sign_of("+"), item, other, machine.meter) if func is None else call(func, [item, other], {}, machine)
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
        items = [item_of(value, name, frame) for name in names]
        return items[0] if len(items) == 1 else tuple(items)

    return Native("itemgetter", run)


def _attrgetter(machine: Machine, /, *names: str) -> Native:
    def run(machine: Machine, value: object, /) -> object:
        values = [attribute(value, name) for name in names]
        return values[0] if len(values) == 1 else tuple(values)

    return Native("attrgetter", run)


def _operator(sign: str) -> Callable[..., object]:
    def run(machine: Machine, one: object, other: object, /) -> object:
        return binary(sign_of(sign), one, other, machine.meter)

    return run


def _getattr(machine: Machine, value: object, name: str, /, *default: object) -> object:
    try:
        return attribute(value, name)
    except ProgramFault as fault:
        if len(default) != 1 or isinstance(fault, Unsupported):
            raise
        return default[0]


def _hasattr(machine: Machine, value: object, name: str, /) -> bool:
    try:
        attribute(value, name)
    except Unsupported:
        raise
    except ProgramFault:
        return False
    return True


def _setattr(machine: Machine, value: object, name: str, new: object, /) -> None:
    if not isinstance(name, str) or (name.startswith("__") and name.endswith("__")):
        raise Unsupported("setattr takes a name without leading underscores")
    classes.set_member(value, name, new, machine)


def _type(machine: Machine, value: object, /) -> object:
    if isinstance(value, Instance):
        return value.cls
    type_ = OFFERED.get(value.kind if isinstance(value, Error) else kind(value))
    if not isinstance(type_, Native) or not type_.type:
        raise Unsupported(f"type of {kind(value)} is not supported; use isinstance")
    return type_


def _cache(machine: Machine, function: object, /) -> Function:
    if not isinstance(function, Function):
        raise Unsupported(f"cache takes a function of the program, not {kind(function)}")
    results: dict[object, object] = {}

    def body(frame: Frame) -> object:
        meter = frame.machine.meter
        arguments = tuple((name, key(frame.names[name], meter)) for name in sorted(frame.names))
        if arguments not in results:
            results[arguments] = function.body(frame)
            meter.grow(len(results))
        return results[arguments]

    return replace(function, body=body)


def _lru_cache(machine: Machine, maxsize: object = 128, typed: object = False) -> object:
    return _cache(machine, maxsize) if isinstance(maxsize, Function) else Native("lru_cache", _cache)


def _wraps(machine: Machine, wrapped: object, /) -> Native:
    def run(machine: Machine, function: object, /) -> object:
        return function

    return Native("wraps", run)


def _copied(machine: Machine, value: Any, /) -> object:
    if isinstance(value, Instance):
        new = Instance(value.cls)
        machine.meter.length(len(value.names))
        new.names = dict(value.names)
        return new
    return call(attribute(value, "copy"), (), {}, machine) if isinstance(value, list | dict | Members) else value


def _deep_copied(machine: Machine, value: Any, /) -> object:
    """Without what a value has twice being one thing again."""
    machine.meter.step()
    new: Any = _copied(machine, value)
    if isinstance(new, Instance):
        new.names = {name: _deep_copied(machine, item) for name, item in new.names.items()}
    elif isinstance(new, list):
        new[:] = [_deep_copied(machine, item) for item in new]
    elif isinstance(new, dict):
        for name in new:
            new[name] = _deep_copied(machine, new[name])
    elif type(new) is tuple:
        return machine.meter.keep(tuple(_deep_copied(machine, item) for item in new))
    return new


def _best_of(reverse: bool) -> Callable[..., list[object]]:

    def run(machine: Machine, n: int, iterable: object, key: object = None) -> list[object]:
        items = collect(iterable, machine.meter)
        return [items[number] for number in sort_order(machine, items, key, reverse)[: max(0, n)]]

    return run


def _sorted_in_place(machine: Machine, heap: object) -> list[Any]:
    if not isinstance(heap, list):
        raise ProgramFault(f"a heap is a list, not {kind(heap)}", kind="TypeError")
    heap[:] = [heap[number] for number in sort_order(machine, heap, None, reverse=False)]
    return heap


def _heappush(machine: Machine, heap: object, item: object, /) -> None:
    """The list is kept sorted, which is a heap too."""
    machine.meter.grow(len(_sorted_in_place(machine, heap)) + 1)
    _sorted_in_place(machine, heap).append(item)
    _sorted_in_place(machine, heap)


def _heapify(machine: Machine, heap: object, /) -> None:
    _sorted_in_place(machine, heap)


def _loads(machine: Machine, s: object, /) -> object:
    if not isinstance(s, str):
        raise ProgramFault(f"json.loads takes a text, not {kind(s)}", kind="TypeError")
    machine.meter.step(1 + len(s) // 16)
    try:
        value = json.loads(s, parse_int=lambda digits: machine.meter.keep(int(digits[:400])))
    except ValueError as error:
        raise ProgramFault(f"not JSON: {error}", kind="ValueError", message=str(error)) from None
    written(value, 2 * machine.meter.budget.string, machine.meter)
    return value


def _dumps(machine: Machine, obj: object, /, *, indent: object = None, ensure_ascii: object = True) -> str:
    quoted(obj, machine.meter)
    small = indent if isinstance(indent, int) and 0 <= indent <= 8 else None
    return machine.meter.keep(json.dumps(obj, indent=small, ensure_ascii=bool(ensure_ascii)))


def _module(name: str, functions: dict[str, Callable[..., object]], **constants: object) -> Module:
    return Module(name, {entry: Native(entry, run) for entry, run in functions.items()} | constants)


def _nothing(machine: Machine, /, *values: object) -> None:
    """What stands in annotations is never evaluated; elsewhere it is nothing."""


# The names of `typing` that are types.
_NAMES = {"List": (list,), "Dict": (dict,), "Set": (Members,), "Tuple": (tuple,), "Sequence": (list, tuple, str, range)}
_TYPES = (
    "Iterator Mapping TypeVar Generic Protocol ClassVar Final Generator Any Dict Iterable List Optional Sequence Set "
    "Tuple Union Callable Literal"
)
_IMAGES = Module("PIL.Image", {"Image": Native("Image", _nothing, type=(Image,))}, frozenset(dir(PIL.Image)))
# Every module by its name.
MODULES: dict[str, Module] = {
    "math": MATH,
    "re": standard_modules.RE,
    "collections": Module(
        "collections",
        {
            "Counter": Native("Counter", _counter, type=(Tally,)),
            "defaultdict": Native("defaultdict", _filled, type=(Filled,)),
            "deque": Native("deque", _deque, type=(Queue,)),
            "OrderedDict": FUNCTIONS["dict"],
            "namedtuple": Native("namedtuple", classes.namedtuple),
        },
    ),
    "itertools": _module(
        "itertools",
        {
            "chain": _lazily(itertools.chain, whole=False),
            "combinations": _lazily(lambda values, r: itertools.combinations(values, _small(r))),
            "permutations": _lazily(
                lambda values, r=None: itertools.permutations(values, _small(len(values) if r is None else r))
            ),
            "product": _lazily(lambda *values, repeat=1: itertools.product(*values, repeat=_small(repeat))),
            "pairwise": _lazily(itertools.pairwise),
            "islice": _lazily(itertools.islice, whole=False),
            "zip_longest": _lazily(itertools.zip_longest, whole=False),
            **by_name(_groupby, _accumulate),
        },
    ),
    "functools": _module(
        "functools",
        by_name(_reduce, _partial, _lru_cache, _cache, _wraps) | {"cached_property": classes.cached_property},
    ),
    "statistics": _module(
        "statistics",
        {
            name: _statistic(getattr(statistics, name))
            for name in ("mean", "fmean", "median", "mode", "pstdev", "stdev")
        },
    ),
    "operator": _module(
        "operator",
        {
            **by_name(_itemgetter, _attrgetter),
            **{name: _operator(sign) for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"))},
        },
    ),
    "typing": Module(
        "typing",
        {
            **{name: Native(name, _nothing, type=_NAMES.get(name, (type(None),))) for name in _TYPES.split()},
            "NamedTuple": classes.NAMED_TUPLE,
        },
    ),
    "__future__": _module("__future__", {"annotations": _nothing}),
    "dataclasses": _module("dataclasses", classes.DATACLASSES),
    "enum": Module("enum", classes.ENUM),
    "abc": Module("abc", classes.ABSTRACT),
    "contextlib": _module("contextlib", {"suppress": lambda machine, /, *kinds: Suppressed(kinds)}),
    "copy": _module("copy", {"copy": _copied, "deepcopy": _deep_copied}),
    "heapq": _module(
        "heapq",
        {
            "nlargest": _best_of(reverse=True),
            "nsmallest": _best_of(reverse=False),
            "heappop": lambda machine, heap, /: _sorted_in_place(machine, heap).pop(0),
            **by_name(_heappush, _heapify),
        },
    ),
    "json": _module("json", by_name(_loads, _dumps)),
    "string": Module(
        "string",
        {name: getattr(string, name) for name in ("ascii_letters", "ascii_lowercase", "digits", "punctuation")},
    ),
    "PIL": Module("PIL", {"Image": _IMAGES}),
}
MODULES = {name: replace(module, real=frozenset(dir(import_module(name)))) for name, module in MODULES.items()}
assert tuple(MODULES) == IMPORTED
# What a program has without importing it, beside the surface.
OFFERED: dict[str, object] = (
    FUNCTIONS
    | {name: Native(name, run) for name, run in by_name(_getattr, _hasattr, _setattr, _type).items()}
    | {name: Native(name, run) for name, run in classes.METHOD_KINDS.items()}
    | {"super": SUPER}
    | {name: MODULES[name] for name in ("math", "re")}
)
