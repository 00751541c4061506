"""The stored calls behind a program's operations: what a vision names as it is asked is kept with the step it is of."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


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
