"""A call in, a reply out: from the store, or sent, retried, paid for and stored."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from cfeval.calls.bodies import fault_as_reply
from cfeval.calls.call import Call, Reply, Usage
from cfeval.calls.faults import Fault, Reaction
from cfeval.calls.limiter import Limiter
from cfeval.calls.meter import Meter
from cfeval.calls.prices import Price, Prices, load_prices
from cfeval.calls.settings import settings
from cfeval.calls.store import Budget, BudgetError, Store
from cfeval.calls.transport import open_client
from cfeval.errors import BackendError, CfevalError
from cfeval.params import Calls
from cfeval.records.common import Status

T = TypeVar("T")
ALIKE = 3
"""So many calls that fail alike for no reason of their own, before any went well, end the run."""
_BACK_OFF = 0.5
_LONGEST_BACK_OFF = 30.0
_LOOK = 0.2
"""Seconds between two looks at a call that another job is at."""


@dataclass
class Attempts:
    """The attempts at one call."""

    caller: "Caller"
    call: Call
    client: httpx2.AsyncClient
    began: float

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
            number = await self.caller.send(self.call)
            ended, used, charged = "broken off", None, True
            try:
                result = await step()
                if isinstance(result, Fault):
                    ended, used, charged = result.kind, result.usage, result.sent
                else:
                    ended, used = "ok", usage(result)
                return result
            finally:
                self.caller.settle(number, self.call, ended, used, charged)

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
            self.caller.heed(result)
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


class Caller:
    """One job's way to the models outside."""

    def __init__(self, calls: Calls, store: Store, prices: Prices, at_most: int) -> None:
        self.settings, self.store, self.prices = calls, store, prices
        self.budget = Budget(calls.max_calls, calls.max_cost_usd)
        self.limiter = Limiter(min(calls.at_once, at_most))
        self.meter = Meter()
        self.random = random.Random()  # only spreads the waits of a back-off: no result depends on it
        self.stopped: CfevalError | None = None
        self._stopping, self._settled = asyncio.Event(), asyncio.Event()
        self._under_way = 0
        self._alike: Counter[str] | None = Counter()  # how the first calls failed; None once one went well
        self._locks: dict[str, asyncio.Lock] = {}

    async def answer(self, call: Call, work: Work, client: httpx2.AsyncClient) -> Reply:
        """The reply to a call, from the store if it is there.

        Raises:
            CfevalError: every further call would fail, the budget is reached, or the store cannot be used or is to
                answer alone and cannot. The run sends nothing more.
        """
        async with self._locks.setdefault(call.key, asyncio.Lock()):
            stored = self._stored(call)
            if stored is not None:
                self.meter.stored += 1
                return stored
            async with self.limiter:
                try:
                    return await self._own(call, work, client)
                except CfevalError as error:
                    self._stop(error)
                    raise

    def _stored(self, call: Call) -> Reply | None:
        """What the store answers; a failure that does not stand counts only where nothing can be sent."""
        found = self.store.find(call.key)
        if found is not None and (found.final or self.settings.offline):
            return found
        if self.settings.offline:
            raise BackendError(
                f"offline: item '{call.item}' needs a call to {call.model} ({call.base_url}) that {self.store.path} "
                f"does not hold (key {call.key[:12]}…); import the store that holds it, or run without offline"
            )
        return None

    async def _own(self, call: Call, work: Work, client: httpx2.AsyncClient) -> Reply:
        """Make the call this job's own and ask, or take what another job was told meanwhile."""
        self._go_on()
        while not self.store.claim(call.key, self.settings.deadline):
            await asyncio.sleep(_LOOK)
            self._go_on()
        try:
            stored = self._stored(call)
            if stored is None:
                return await self._ask(call, work, client)
            self.meter.stored += 1
            return stored
        finally:
            self.store.release(call.key)

    async def _ask(self, call: Call, work: Work, client: httpx2.AsyncClient) -> Reply:
        with self.meter.in_flight():
            result = await work(Attempts(self, call, client, time.monotonic()))
        if isinstance(result, Fault) and result.reaction is Reaction.STOP:
            raise BackendError(f"{call.model}: {result.reason}")
        reply = fault_as_reply(result) if isinstance(result, Fault) else result
        self.store.keep(call, reply)
        self.meter.ended(reply)
        self._conclude(result)
        return reply

    async def send(self, call: Call) -> int:
        """Set aside what an attempt may cost, where need be once this job's attempts under way have cost less.

        Raises:
            BudgetError: see `Store.send`.
        """
        price = self._price(call)
        reserved = price.of(call.expected) if price else 0.0
        while True:
            self._go_on()
            try:
                number = self.store.send(call, reserved, self.budget)
            except BudgetError:
                if not self._under_way:
                    raise
                await self._settled.wait()
            else:
                self._under_way += 1
                return number

    def settle(self, number: int, call: Call, ended: str, usage: Usage | None, charged: bool) -> None:
        """Note what an attempt came to."""
        self._under_way -= 1
        self._settled.set()
        self._settled = asyncio.Event()
        price, known = self.prices.of(call.model), None if usage == Usage() else usage
        self.meter.used(known, price)
        self.store.settle(number, ended, known, price.of(known) if price and known else None, charged)

    def _price(self, call: Call) -> Price | None:
        price = self.prices.of(call.model)
        if price is None and self.budget.max_cost_usd is not None:
            raise BackendError(
                f"calls.max_cost_usd is set, but the price list of {self.prices.date} does not have {call.model}; "
                "add it (0 where it is free) and name the file by calls.prices"
            )
        return price

    def heed(self, result: Any) -> None:
        """Learn from how an attempt ended how many calls the server bears at once."""
        if not isinstance(result, Fault):
            self.limiter.went_well()
        elif result.throttled:
            self.limiter.throttled()

    async def pause(self, seconds: float) -> None:
        """Wait before a further attempt, or until the run stops.

        Raises:
            CfevalError: it has stopped.
        """
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
        self._go_on()

    def _conclude(self, result: Reply | Fault) -> None:
        """End the run where nothing went well and calls fail alike for a reason that is not their own."""
        if self._alike is None or not isinstance(result, Fault):
            self._alike = None
        elif result.systematic:
            self._alike[result.kind] += 1
            if self._alike[result.kind] >= ALIKE:
                self._stop(
                    BackendError(
                        f"the first calls all failed alike ({result.reason}); check the network, base_url, the model's "
                        "name and options; `cfeval doctor` tells which"
                    )
                )

    def _stop(self, error: CfevalError) -> None:
        self.stopped = self.stopped or error
        self._stopping.set()

    def _go_on(self) -> None:
        if self.stopped is not None:
            raise self.stopped


def run_all(works: Sequence[Callable[[Caller, httpx2.AsyncClient], Awaitable[T]]], at_most: int = 512) -> list[T]:
    """Do several pieces of work that call models outside, all at once; their results, in order.

    Args:
        works: each is given the caller and a client.
        at_most: how many calls the provider bears at once; `calls.at_once` may set fewer.

    Where the run must stop, calls in flight are waited for and stored first: they are paid for.

    Raises:
        CfevalError: see `Caller.answer`.
    """

    async def do() -> list[T | BaseException]:
        async with open_client() as client:
            with caller.meter.shown():
                return await asyncio.gather(*(work(caller, client) for work in works), return_exceptions=True)

    if not works:
        return []
    calls = settings()
    store = Store(Path(calls.store))
    caller = Caller(calls, store, load_prices(calls.prices), at_most)
    try:
        results = asyncio.run(do())
    finally:
        store.close()
    wrong = [result for result in results if isinstance(result, BaseException)]
    for error in (*(e for e in wrong if not isinstance(e, CfevalError)), caller.stopped, *wrong):
        if error is not None:
            raise error
    return [result for result in results if not isinstance(result, BaseException)]


def _given_up(fault: Fault, why: str) -> Fault:
    reason = f"{fault.reason}; given up: {why}"
    return replace(fault, reaction=Reaction.RECORD, reason=reason, final=fault.status != Status.TRANSPORT_ERROR)
