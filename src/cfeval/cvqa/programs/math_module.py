"""The module `math`, as programs may import it: by a list of names, with the size of what is computed bounded."""

import math
from collections.abc import Callable
from typing import Any

from cfeval.cvqa.programs.limits import ProgramFault, Unsupported
from cfeval.cvqa.programs.operators import binary, sign_of
from cfeval.cvqa.programs.values import NUMBERS, Machine, Module, Native, collect, iterate, kind

_LARGEST = 170
"""The largest factorial that a float can hold."""
_PLAIN: tuple[Callable[..., object], ...] = (
    math.acos,
    math.asin,
    math.atan,
    math.atan2,
    math.cbrt,
    math.ceil,
    math.copysign,
    math.cos,
    math.degrees,
    math.exp,
    math.fabs,
    math.floor,
    math.fmod,
    math.gcd,
    math.hypot,
    math.isclose,
    math.isfinite,
    math.isinf,
    math.isnan,
    math.isqrt,
    math.lcm,
    math.log,
    math.log10,
    math.log2,
    math.pow,
    math.radians,
    math.sin,
    math.sqrt,
    math.tan,
    math.trunc,
)


def _numbers_only(function: Callable[..., object]) -> Callable[..., object]:
    def run(machine: Machine, /, *numbers: object) -> object:
        wrong = next((number for number in numbers if not isinstance(number, NUMBERS)), 0)
        if not isinstance(wrong, NUMBERS):
            raise ProgramFault(f"math.{function.__name__} takes numbers, not {kind(wrong)}", kind="TypeError")
        machine.meter.step(len(numbers))
        return machine.meter.keep(function(*numbers))

    return run


def _bounded(function: Callable[..., object]) -> Callable[..., object]:
    """Of integers small enough for the result to be of some use."""

    def run(machine: Machine, /, *numbers: Any) -> object:
        if not all(isinstance(number, int) for number in numbers):
            raise ProgramFault(f"math.{function.__name__} takes integers", kind="TypeError")
        if any(number > _LARGEST for number in numbers):
            raise Unsupported(f"math.{function.__name__} takes integers of at most {_LARGEST}")
        return machine.meter.keep(function(*numbers))

    return run


def _dist(machine: Machine, one: object, other: object, /) -> float:
    return math.dist(collect(one, machine.meter), collect(other, machine.meter))


def _prod(machine: Machine, values: object, /, *, start: object = 1) -> object:
    for value in iterate(values, machine.meter):
        start = binary(sign_of("*"), start, value, machine.meter)
    return start


def _fsum(machine: Machine, values: object, /) -> float:
    items = collect(values, machine.meter)
    if not all(isinstance(item, NUMBERS) for item in items):
        raise ProgramFault("math.fsum takes numbers", kind="TypeError")
    return math.fsum(items)


_FUNCTIONS: dict[str, Callable[..., object]] = {
    **{function.__name__: _numbers_only(function) for function in _PLAIN},
    **{function.__name__: _bounded(function) for function in (math.factorial, math.comb, math.perm)},
    "dist": _dist,
    "prod": _prod,
    "fsum": _fsum,
}
MATH = Module(
    "math",
    {name: Native(name, run) for name, run in _FUNCTIONS.items()}
    | {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan},
)
