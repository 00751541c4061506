"""What a program may use and the meter that stops it, why it failed, what it did, and the stored calls behind it.

The caps on single values also bound what a single operation costs, so that the clock is looked at often enough. What a
vision names as it is asked is kept with the step it is of.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from cfeval.cvqa.records import TraceStep


class Called:
    """The calls of one program: all of them, each once, and those that no step of the trace has taken yet."""

    def __init__(self) -> None:
        self._all: dict[str, None] = {}
        self._new: list[str] = []

    def add(self, keys: Iterable[str]) -> None:
        """Name calls, whether or not the model answered."""
        for key in keys:
            self._all[key] = None
            self._new.append(key)

    def take(self) -> tuple[str, ...]:
        """The calls since the last step."""
        taken, self._new = tuple(dict.fromkeys(self._new)), []
        return taken

    @property
    def keys(self) -> tuple[str, ...]:
        """All calls so far, in the order in which they were first named."""
        return tuple(self._all)


_OF_PROGRAM: ContextVar[Called] = ContextVar("calls of the program that runs")


@contextmanager
def calls_of_program() -> Iterator[Called]:
    """Collect the calls that visions name until the block ends; blocks in other threads and contexts have their own."""
    called = Called()
    token = _OF_PROGRAM.set(called)
    try:
        yield called
    finally:
        _OF_PROGRAM.reset(token)


def name_calls(keys: Iterable[str]) -> None:
    """Name the stored calls behind the operation that is done now; nothing happens outside of a program."""
    called = _OF_PROGRAM.get(None)
    if called is not None:
        called.add(keys)


def calls_of_step() -> tuple[str, ...]:
    """The calls since the last step of the program that runs."""
    called = _OF_PROGRAM.get(None)
    return called.take() if called is not None else ()


# Characters of a reason; what a program names in it can be long.
_LONGEST = 300
# How the line of a fault ends that is no error of the program.
LIMIT_MARK = " (a limit of our interpreter)"
# What an operation on a program's own values can raise; `RecursionError` is a `RuntimeError`.
PYTHON_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, RuntimeError, MemoryError)
_T = TypeVar("_T")
# Steps between two looks at the clock.
_LOOK = 64
# Characters of the arguments, and of the result, of a call.
SHOWN = 160
# Calls that are kept; a last entry says that there were more.
KEPT = 1_000


class ProgramFault(Exception):  # noqa: N818 - a program's fault, no error of cfeval
    """A program that cannot be read, asks for what is not allowed, or fails as it runs.

    `line` is the program's line, from 1 (0: none known yet); `kind` names Python's exception where there is one, so
    that `except ValueError` of a program works; `message` is what `except … as` sees of it, `value` the exception
    itself where its class is the program's own.
    """

    def __init__(
        self, reason: str, line: int = 0, kind: str = "", message: str | None = None, value: object = None
    ) -> None:
        super().__init__(reason)
        self.value = value
        self.reason = reason
        self.message = reason if message is None else message
        self.line = line
        self.kind = kind

    def __str__(self) -> str:
        """The reason as one line, with the line number."""
        where, whose = f"line {self.line}: " if self.line else "", LIMIT_MARK if isinstance(self, Unsupported) else ""
        text, longest = where + " ".join(self.reason.split()), _LONGEST - len(whose)
        return (text if len(text) <= longest else text[: longest - 1] + "…") + whose


class Unsupported(ProgramFault):
    """What Python has and this interpreter does not: no error of the program, and no `except` of a program catches it.

    A program that went on would do other things than in Python, and be judged by them.
    """


class Exhausted(Unsupported):
    """A budget is used up."""


class Broken(BaseException):
    """An implementation of `Vision` raised what is no `VisionError`: a defect, carried past the program's faults."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def from_python(error: Exception, line: int) -> ProgramFault:
    """The fault for an exception that Python raised over the program's values."""
    kind = type(error).__name__
    if isinstance(error, RecursionError):
        return Exhausted("functions, generators or values are nested too deeply", line, kind)
    if isinstance(error, MemoryError):
        return Exhausted("out of memory", line, kind)
    if isinstance(error, KeyError):
        return ProgramFault(f"there is no key {error}", line, kind, str(error))
    return ProgramFault(f"{kind}: {error}", line, kind, str(error))


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
    return str(count) if count < 10**15 else "very many"


class Trace:
    """The calls of one run."""

    def __init__(self) -> None:
        self._steps: list[TraceStep] = []

    def add(self, line: int, call: str, arguments: str, result: str) -> None:
        """Record a call."""
        if len(self._steps) < KEPT:
            step = TraceStep(line=line, call=call, arguments=cut(arguments), result=cut(result), calls=calls_of_step())
            self._steps.append(step)
        elif len(self._steps) == KEPT:
            self._steps.append(TraceStep(line=line, call="…", arguments="", result="later calls are not kept"))

    @property
    def steps(self) -> Sequence[TraceStep]:
        """The calls so far, in order."""
        return self._steps


def cut(text: str) -> str:
    """A text that a record can hold and a reader take in."""
    return clean(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


def clean(text: str) -> str:
    """A text without halves of surrogate pairs, which no file in UTF-8 can hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
