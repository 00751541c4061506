"""Programs, and tools of agents, side by side: one computes at a time, the others wait for models meanwhile.

So vision operations on this machine need not bear being called from several threads. The calls that programs wait for
travel together, under the limit of all calls (`calls.max_connections`), and what they ask of models on this machine
goes in batches (`batching.beside`).
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from cfeval.inference.batching import beside
from cfeval.inference.remote.settings import settings

T = TypeVar("T")


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


# Programs that are under way where all is on this machine.
AT_ONCE = 64


class Workers:
    """Runs what visions do in threads beside the event loop, one at a time but for waits.

    Args:
        outside: whether visions call models outside, so that it pays to have as many under way as can call.
    """

    def __init__(self, outside: bool) -> None:
        self._many = 2 * settings().max_connections if outside else AT_ONCE
        self._turns, self._threads = Turns(), ThreadPoolExecutor(self._many)
        self._room: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Do some work; it sees the context variables of the caller."""

        def taken() -> T:
            with self._turns.taken():
                return work()

        loop = asyncio.get_running_loop()
        if self._room is None or self._room[0] is not loop:
            self._room = loop, asyncio.Semaphore(self._many)
        try:
            async with self._room[1]:  # whoever is let in has a thread
                return await beside(taken, self._threads)
        except asyncio.CancelledError:
            self._turns.end()
            raise


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
