"""Concurrency that adapts under a ceiling: halved when a server is throttling, raised again as calls go well."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType

_CALM = 1.0
"""Seconds for which further complaints count as the same one: calls in flight all meet the same full server."""


class Limiter:
    """At most `limit` blocks at once, in the order in which they came; `limit` is at most `ceiling`.

    Those inside when the limit falls may finish; nobody enters until there are fewer than it allows. `clock` tells
    seconds.
    """

    def __init__(self, ceiling: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.ceiling = self.limit = ceiling
        self._clock = clock
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._good = 0
        self._complained = -math.inf

    async def __aenter__(self) -> None:
        """Wait for a slot."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()  # the slot came at the same moment
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the slot back."""
        self._leave()

    def throttled(self) -> None:
        """Half as many from now on, at least one."""
        self._good = 0
        now = self._clock()
        if now - self._complained >= _CALM:
            self._complained = now
            self.limit = max(1, self.limit // 2)

    def went_well(self) -> None:
        """One more after as many good calls as there may be at once."""
        self._good += 1
        if self._good >= self.limit and self.limit < self.ceiling:
            self._good = 0
            self.limit += 1
            self._admit()

    def _leave(self) -> None:
        self._inside -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._inside < self.limit:
            turn = self._waiting.popleft()
            if not turn.cancelled():
                turn.set_result(None)
                self._inside += 1
