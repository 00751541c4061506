"""Concurrency that adapts under a ceiling: halved when a server is throttling, raised again as calls go well."""

import asyncio
import math
import time
from collections.abc import Callable
from types import TracebackType

_CALM = 1.0
"""Seconds for which further complaints count as the same one: calls in flight all meet the same full server."""


class Limiter:
    """At most `ceiling` blocks at once, in the order in which they came; `clock` tells seconds."""

    def __init__(self, ceiling: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.ceiling = self.limit = ceiling
        self._clock = clock
        self._slots = asyncio.Semaphore(ceiling)
        self._owed = 0
        self._good = 0
        self._complained = -math.inf

    async def __aenter__(self) -> None:
        """Wait for a slot."""
        await self._slots.acquire()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the slot back, or up."""
        if self._owed:
            self._owed -= 1
        else:
            self._slots.release()

    def throttled(self) -> None:
        """Half as many from now on, at least one."""
        self._good = 0
        now = self._clock()
        if now - self._complained < _CALM:
            return
        self._complained = now
        fewer = max(1, self.limit // 2)
        self._owed += self.limit - fewer
        self.limit = fewer

    def went_well(self) -> None:
        """One more after as many good calls as there may be at once."""
        self._good += 1
        if self._good < self.limit or self.limit >= self.ceiling:
            return
        self._good = 0
        self.limit += 1
        if self._owed:
            self._owed -= 1
        else:
            self._slots.release()
