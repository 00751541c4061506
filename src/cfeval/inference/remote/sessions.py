"""The client of a stage: opened with its first call, closed after its last."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from cfeval.core.errors import StoppedError
from cfeval.core.process import is_ignored, silence_terminal
from cfeval.inference.batching import shared
from cfeval.inference.remote.cache_server import open_cache
from cfeval.inference.remote.client import Client
from cfeval.inference.remote.http import open_client
from cfeval.inference.remote.prices import load_prices
from cfeval.inference.remote.settings import settings


async def shared_client() -> Client:
    """The client of all requests that are answered together (`cfeval.inference.batching.map_requests`).

    Raises:
        CfevalError: settings, cache or price list cannot be used.
    """
    return await shared(_opened)


@asynccontextmanager
async def _opened() -> AsyncIterator[Client]:
    calls = settings()
    prices = load_prices(calls.prices)
    with closing(open_cache(Path(calls.cache))) as cache, ThreadPoolExecutor(1, "cache") as disk:
        async with open_client() as http:
            client = Client(calls, cache, prices, http, disk)
            with client.meter.shown(), stop_on_signals(client.stop_politely):
                try:
                    yield client
                except asyncio.CancelledError:  # Ctrl-C before anybody listened
                    await client.end(broken_off=True)
                    raise
                await client.end(broken_off=False)


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Seconds within which signals count as one: a terminal or a scheduler sends it to every process of a job, and those
# that started others pass it on.
SAME = 0.5
_listeners: list[Callable[[StoppedError], None]] = []
_previous_handlers: dict[int, Any] = {}
# The first signal and when it came, as long as anybody listens.
_stopped: list[tuple[StoppedError, float]] = []


@contextmanager
def stop_on_signals(stop: Callable[[StoppedError], None]) -> Iterator[None]:
    """Call `stop` in place of what these signals do, between two steps of the main thread; elsewhere, do nothing.

    They are Ctrl-C, SIGTERM of `scancel` and Kubernetes, SIGHUP of a closed terminal. The first is told to those who
    listen, and nothing is interrupted: a reply that is being stored is stored. The second ends the process at once.
    A signal that is ignored, as under `nohup`, stays so. Who begins to listen after the first signal is told at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if not _listeners:
        for number in SIGNALS:
            if not is_ignored(number):
                _previous_handlers[number] = signal.signal(number, _on_signal)
    _listeners.append(stop)
    try:
        if _stopped:
            stop(_stopped[0][0])
        yield
    finally:
        _listeners.remove(stop)
        if not _listeners:
            for signal_number, handler in _previous_handlers.items():
                signal.signal(signal_number, handler)
            _previous_handlers.clear()
            _stopped.clear()


def _on_signal(number: int, _frame: FrameType | None) -> None:
    if number == signal.SIGHUP:
        silence_terminal()
    if not _stopped:
        _stopped.append((StoppedError(number), time.monotonic()))
        for stop in list(_listeners):
            stop(_stopped[0][0])
    elif time.monotonic() - _stopped[0][1] > SAME:
        signal.signal(number, signal.SIG_DFL)  # the parent is to see the signal
        os.kill(os.getpid(), number)
