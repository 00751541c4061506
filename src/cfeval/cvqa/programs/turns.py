"""Programs of many questions side by side: one computes at a time, the others wait for models meanwhile.

So vision operations on this machine need not bear being called from several threads, and the calls that programs wait
for travel together, under the limit of all calls (`calls.max_connections`).
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Stopped(Exception):  # noqa: N818 - the end of a run, no error
    """The run ended while a program was under way."""


class Turns:
    """Hands the turn from program to program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = False

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Within, the program of this thread computes; `waiting` gives the turn away for a while."""
        with self._lock:
            token = _TURN.set(self)
            try:
                yield
            finally:
                _TURN.reset(token)

    @contextmanager
    def given(self) -> Iterator[None]:
        """Within, other programs compute.

        Raises:
            Stopped: the run has ended.
        """
        if self._ended:
            raise Stopped
        self._lock.release()
        try:
            yield
        finally:
            self._lock.acquire()

    def end(self) -> None:
        """No program waits for a model any more."""
        self._ended = True


@contextmanager
def waiting() -> Iterator[None]:
    """Around a wait for a model: other programs compute meanwhile, where several are under way."""
    turns = _TURN.get(None)
    if turns is None:
        yield
        return
    with turns.given():
        yield


_TURN: ContextVar[Turns] = ContextVar("turn")
