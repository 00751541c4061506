"""How far the calls of a job are, on stderr: done, from the store, in flight, waiting, tokens, cost."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cfeval.calls.call import Reply, Usage
from cfeval.records.common import Status

EVERY = 5.0
"""Seconds between lines."""


class Meter:
    """Counts; see the module."""

    def __init__(self) -> None:
        self.stored = self.done = self.failed = self.flying = self.pausing = self.tokens = self.shrunk = 0
        self.usd = 0.0
        self._start = time.monotonic()

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Around a call that is sent."""
        self.flying += 1
        try:
            yield
        finally:
            self.flying -= 1

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Around a pause before another attempt."""
        self.pausing += 1
        try:
            yield
        finally:
            self.pausing -= 1

    def ended(self, reply: Reply) -> None:
        """A call came to its end."""
        self.done += 1
        self.failed += reply.status != Status.OK

    def used(self, usage: Usage | None, listed_usd: float | None) -> None:
        """An attempt was charged for."""
        if usage is None:
            return
        self.tokens += usage.input_tokens + usage.output_tokens
        self.usd += usage.cost_usd if usage.cost_usd is not None else listed_usd or 0.0

    def line(self) -> str:
        """All counts, in one line."""
        rate = self.done / max(time.monotonic() - self._start, 1e-9)
        return (
            f"calls: {self.done} done ({self.failed} failed, {rate:.1f} a second), {self.stored} from the store, "
            f"{self.flying} in flight ({self.pausing} of them waiting), {self.tokens:,} tokens, {self.usd:.4f} USD"
            + (f"; {self.shrunk} pictures shrunk under max_pixels" if self.shrunk else "")
        )

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Say a line now and then, and one at the end."""
        over = threading.Event()

        def talk() -> None:
            while not over.wait(EVERY):
                print(self.line(), file=sys.stderr, flush=True)

        talker = threading.Thread(target=talk, daemon=True)
        talker.start()
        try:
            yield
        finally:
            over.set()
            talker.join()
            print(self.line(), file=sys.stderr, flush=True)
