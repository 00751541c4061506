"""What a program may use, and the meter that counts it and stops the program when it is used up.

The caps on single values also bound what a single operation costs, so that the clock is looked at often enough.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from cfeval.programs.faults import Exhausted

_T = TypeVar("_T")

_LOOK = 64
"""Steps between two looks at the clock."""


@dataclass(frozen=True)
class Budget:
    """Limits of one program. The defaults are far above what programs written for a question need.

    `memory` is an estimate in bytes of all values made, including those no longer in use, and so an upper bound of
    what is live. `seconds` is computing time of the program's own thread, so that a busy machine fails no program; time
    in vision operations is not the program's, and `calls` bounds them. `depth` bounds functions within functions,
    containers within containers, and (twice as much) the nesting of the source.
    """

    nodes: int = 3_000
    steps: int = 100_000
    calls: int = 1_000
    depth: int = 24
    container: int = 10_000
    string: int = 20_000
    memory: int = 64_000_000
    seconds: float = 10.0
    bits: int = 1_024


class Meter:
    """Counts what one program uses; every method raises `Exhausted` where the budget is used up."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.steps = 0
        self.calls = 0
        self.memory = 0
        self._look_at = _LOOK
        self._end = time.thread_time() + budget.seconds

    def step(self, count: int = 1) -> None:
        """Take steps: one for each node evaluated and for each item an operation touches."""
        self.steps += count
        if self.steps > self.budget.steps:
            raise Exhausted(f"more than {self.budget.steps} steps; let the program do less, above all in loops")
        if self.steps >= self._look_at:
            self._look_at = self.steps + _LOOK
            if time.thread_time() > self._end:
                raise Exhausted(f"more than {self.budget.seconds:g} s of computing; let the program do less")

    def call(self) -> None:
        """Count a call of a vision operation or of the language model."""
        self.calls += 1
        if self.calls > self.budget.calls:
            raise Exhausted(f"more than {self.budget.calls} calls of vision operations and models")

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Time spent within is not the program's."""
        start = time.thread_time()
        try:
            yield
        finally:
            self._end += time.thread_time() - start

    def length(self, count: int) -> None:
        """A container of so many items is about to be, or has just been, made."""
        if count > self.budget.container:
            raise Exhausted(f"a container of {_shown(count)} items; at most {self.budget.container} are allowed")
        self._make(64 + 8 * count)

    def text(self, count: int) -> None:
        """A text of so many characters is about to be, or has just been, made."""
        if count > self.budget.string:
            raise Exhausted(f"a text of {_shown(count)} characters; at most {self.budget.string} are allowed")
        self._make(64 + 4 * count)

    def bits(self, count: int) -> None:
        """An integer of so many bits is about to be, or has just been, made."""
        if count > self.budget.bits:
            raise Exhausted(f"an integer of {_shown(count)} bits; at most {self.budget.bits} are allowed")
        self._make(32 + count // 8)

    def grow(self, count: int) -> None:
        """A dictionary, set or list has grown by one to this many items."""
        if count > self.budget.container:
            raise Exhausted(f"a container of {_shown(count)} items; at most {self.budget.container} are allowed")
        self._make(104)

    def keep(self, value: _T) -> _T:
        """Count a new value, whatever it is, and hand it back."""
        if isinstance(value, str):
            self.text(len(value))
        elif isinstance(value, int):
            self.bits(value.bit_length())
        elif isinstance(value, list | tuple | dict):
            self.length(len(value))
        return value

    def _make(self, size: int) -> None:
        self.memory += size
        if self.memory > self.budget.memory:
            raise Exhausted(f"values of more than {self.budget.memory} bytes in all")


def _shown(count: int) -> str:
    """A count, short where it is astronomic."""
    return str(count) if count < 10**15 else "very many"
