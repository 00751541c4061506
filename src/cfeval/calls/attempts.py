"""The attempts at one call: when another is made, how long it waits, and when it is given up."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import httpx2

from cfeval.calls.call import Call, Reply, Usage
from cfeval.calls.faults import Fault, Reaction
from cfeval.calls.store import BROKEN_OFF, Settlement
from cfeval.records.common import Status

if TYPE_CHECKING:
    from cfeval.calls.caller import Caller

T = TypeVar("T")
_BACK_OFF = 0.5
_LONGEST_BACK_OFF = 30.0


@dataclass
class Attempts:
    """The attempts at one call."""

    caller: "Caller"
    call: Call
    client: httpx2.AsyncClient
    began: float
    open: Settlement | None = None
    """What is still to be noted of the last paid attempt: an answer is settled when it is stored, in one step."""

    def settle(self) -> None:
        """Note how the last paid attempt ended, if that is still to do."""
        if self.open is not None:
            self.caller.settle(self.open)
            self.open = None

    def seconds_left(self) -> float:
        """Until the deadline of the call."""
        return self.began + self.caller.settings.deadline - time.monotonic()

    def seconds(self) -> float:
        """For one attempt."""
        return max(0.001, min(self.caller.settings.timeout, self.seconds_left()))

    async def paid(self, step: Callable[[], Awaitable[T | Fault]], usage: Callable[[T], Usage]) -> T | Fault:
        """Attempt a step that is paid for until it goes well, must be recorded, or time or attempts run out.

        Raises:
            CfevalError: the run has stopped, or the budget is reached; nothing more is sent.
        """

        async def once() -> T | Fault:
            self.settle()
            number = await self.caller.send(self.call)
            self.open = self.caller.settlement(number, self.call, BROKEN_OFF, None, charged=True)
            result = await step()
            if isinstance(result, Fault):
                self.open = self.caller.settlement(number, self.call, result.kind, result.usage, result.sent)
                if result.reaction is Reaction.RETRY:
                    self.settle()
            else:
                self.open = self.caller.settlement(number, self.call, "ok", usage(result), charged=True)
            return result

        return await self._repeated(once, self.caller.pause)

    async def free(self, step: Callable[[], Awaitable[T | Fault]]) -> T | Fault:
        """The same for a step that costs nothing; it goes on where the run has stopped, for what was paid before."""
        return await self._repeated(step, asyncio.sleep)

    async def _repeated(
        self, step: Callable[[], Awaitable[T | Fault]], pause: Callable[[float], Awaitable[None]]
    ) -> T | Fault:
        tried: Counter[str] = Counter()
        while True:
            result = await step()
            self.caller.heed(self.call, result)
            if not isinstance(result, Fault) or result.reaction is not Reaction.RETRY:
                return result
            tried[result.kind] += 1
            wait = self._wait(result, tried.total())
            if why := self._enough(result, tried, wait):
                return _given_up(result, why)
            with self.caller.meter.waiting():
                await pause(wait)

    def _enough(self, fault: Fault, tried: Counter[str], wait: float) -> str:
        """Why there is no further attempt; empty where there is."""
        total = tried.total()
        if total >= self.caller.settings.attempts or tried[fault.kind] >= (fault.tries or total + 1):
            return f"{total} attempts" if total > 1 else "1 attempt"
        if wait <= self.seconds_left():
            return ""
        deadline = f"the deadline of {self.caller.settings.deadline:g} s (calls.deadline)"
        return f"to wait {wait:.0f} s as asked would go over {deadline}" if fault.wait else f"{deadline} is reached"

    def _wait(self, fault: Fault, total: int) -> float:
        if fault.wait is not None:
            return fault.wait
        longest = min(_LONGEST_BACK_OFF, _BACK_OFF * 2**total)
        return self.caller.random.uniform(longest / 2, longest)


Work = Callable[[Attempts], Awaitable[Reply | Fault]]
"""Sends a call by attempts of its own and says what came of it."""


def _given_up(fault: Fault, why: str) -> Fault:
    reason = f"{fault.reason}; given up: {why}"
    return replace(fault, reaction=Reaction.RECORD, reason=reason, final=fault.status != Status.TRANSPORT_ERROR)
