"""A polite stop while calls are in flight: Ctrl-C, SIGTERM of `scancel` and Kubernetes, SIGHUP of a closed terminal.

The first of these signals is told to those who listen, and nothing is interrupted: a reply that is being stored is
stored. The second ends the process at once.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from cfeval.core.errors import StoppedError
from cfeval.core.process import is_ignored, silence_terminal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Seconds within which signals count as one: a terminal or a scheduler sends it to every process of a job, and those
# that started others pass it on.
SAME = 0.5
_listeners: list[Callable[[StoppedError], None]] = []
_former: dict[int, Any] = {}
# The first signal and when it came, as long as anybody listens.
_stopped: list[tuple[StoppedError, float]] = []


@contextmanager
def heard(stop: Callable[[StoppedError], None]) -> Iterator[None]:
    """Call `stop` in place of what these signals do, between two steps of the main thread; elsewhere, do nothing.

    A signal that is ignored, as under `nohup`, stays so. Who begins to listen after the first signal is told at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if not _listeners:
        for number in SIGNALS:
            if not is_ignored(number):
                _former[number] = signal.signal(number, _on_signal)
    _listeners.append(stop)
    try:
        if _stopped:
            stop(_stopped[0][0])
        yield
    finally:
        _listeners.remove(stop)
        if not _listeners:
            for former, handler in _former.items():
                signal.signal(former, handler)
            _former.clear()
            _stopped.clear()


def _on_signal(number: int, _frame: FrameType | None) -> None:
    if number == signal.SIGHUP:
        silence_terminal()
    if not _stopped:
        _stopped.append((StoppedError(number), time.monotonic()))
        for stop in list(_listeners):
            stop(_stopped[0][0])
    elif time.monotonic() - _stopped[0][1] > SAME:
        end_by(number)


def end_by(number: int) -> None:
    """End this process at once by a signal, as its parent is to see."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
