"""A call in, a reply out: from the cache, or sent, retried, paid for and stored."""

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from cfeval.core.config import Calls
from cfeval.core.errors import CfevalError, PluginError, StoppedError
from cfeval.inference.batching import calls_before
from cfeval.inference.remote import batches
from cfeval.inference.remote.batches import BatchApi, Batches
from cfeval.inference.remote.cache import BROKEN_OFF, ResponseCache, UsageEntry
from cfeval.inference.remote.faults import TIMEOUT, Fault, RetryPolicy
from cfeval.inference.remote.http import HttpClient
from cfeval.inference.remote.openai_api import fault_as_reply
from cfeval.inference.remote.prices import Prices
from cfeval.inference.remote.rate_limit import Lane, Limit, Pace, Patience, Slots, lane_of
from cfeval.inference.remote.request import Request, Response, Usage
from cfeval.inference.remote.settings import ProgressMeter
from cfeval.inference.remote.spending import Spending

T = TypeVar("T")
# So many calls that fail alike for no reason of their own, before any went well, end the run.
ALIKE = 3
# Seconds between two looks at a call that another job is at.
_LOOK = 0.2


@dataclass
class RetryLoop:
    """The attempts at one call."""

    caller: "Client"
    call: Request
    client: HttpClient
    began: float
    slots: Slots
    open: UsageEntry | None = None
    """What is still to be noted of the last paid attempt: an answer is settled when it is stored, in one step."""

    async def record_usage(self) -> None:
        """Note how the last paid attempt ended, if that is still to do."""
        if self.open is not None:
            ended, self.open = self.open, None
            await self.caller.spending.record(ended)

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
            # Waits for the server's turn and for others to cost less are no part of the call's time.
            await self.record_usage()
            turn = self.caller.pace(self.call).turn()
            wait = turn - time.monotonic()
            if wait > 0:
                self.began += wait
                with self.caller.meter.counting("pausing"):
                    await self.caller.pause(wait)
            start = time.monotonic()
            number = await self.caller.spending.send(self.call)
            self.began += time.monotonic() - start
            self.open = self.caller.spending.entry(number, self.call, BROKEN_OFF, None, charged=True)
            result = await step()
            await self._ended(number, result, usage)
            if not isinstance(result, Fault):
                self.caller.pace(self.call).went_well()
            elif result.throttled:
                self.caller.pace(self.call).complained(turn, result.wait)
            return result

        return await self._repeated(once, self._pause)

    async def batched(
        self, api: BatchApi, body: Callable[[], Mapping[str, Any]], read: Callable[[Any], Response | Fault]
    ) -> Response | Fault:
        """Attempt a call by a batch, and what may pass by the next one; waits in batches are no part of its time.

        Args:
            api: of the provider.
            body: makes the request, only for as long as it is written.
            read: what an answer's JSON says.

        Raises:
            CfevalError: the run has stopped, or the budget is reached; what is in a batch is found by the next run.
        """

        async def once() -> Response | Fault:
            await self.record_usage()
            outcome = await self.caller.batches.ask(self.call, api, body)
            self.began = time.monotonic()
            answer = outcome.content if isinstance(outcome.content, Fault) else api.read(outcome.content)
            result = answer if isinstance(answer, Fault) else read(answer)
            await self._ended(outcome.send, result, lambda reply: reply.usage)
            if isinstance(result, Fault) and result.reaction is not RetryPolicy.RECORD:
                await self.caller.on_disk(self.caller.cache.batches.forget, self.call.key)
            return result

        return await self._repeated(once, self._pause)

    async def _ended(self, number: int, result: T | Fault, usage: Callable[[T], Usage]) -> None:
        """Note how an attempt ended: a fault that is tried again at once, all else with the reply."""
        if not isinstance(result, Fault):
            self.open = self.caller.spending.entry(number, self.call, "ok", usage(result), charged=True)
            return
        self.open = self.caller.spending.entry(number, self.call, result.kind, result.usage, result.sent)
        if result.reaction is RetryPolicy.RETRY:
            await self.record_usage()

    async def free(self, step: Callable[[], Awaitable[T | Fault]]) -> T | Fault:
        """The same for a step that costs nothing; it goes on where the run has stopped, for what was paid before."""
        return await self._repeated(step, asyncio.sleep)

    async def _repeated(
        self, step: Callable[[], Awaitable[T | Fault]], pause: Callable[[float], Awaitable[None]]
    ) -> T | Fault:
        patience = Patience(self.caller.settings, self.caller.random)
        pace = self.caller.pace(self.call)
        good = pace.good
        while True:
            result = await step()
            if not isinstance(result, Fault) or result.reaction is not RetryPolicy.RETRY:
                return result
            if result.throttled and good < (good := pace.good):
                patience.renew(result.kind)  # the server works, and this call only waits its turn
            wait = patience.next(result, self.seconds_left())
            if isinstance(wait, Fault):
                return wait
            self.caller.meter.timed_out += result.kind == TIMEOUT
            with self.caller.meter.counting("pausing"):
                await pause(wait)

    async def _pause(self, wait: float) -> None:
        """Let others go meanwhile; a wait for a slot afterwards is no part of the call's time."""
        async with self.slots.given_back():
            await self.caller.pause(wait)
            start = time.monotonic()
        self.began += time.monotonic() - start


# Sends a call by attempts of its own and says what came of it.
Work = Callable[[RetryLoop], Awaitable[Response | Fault]]


class Client:
    """One job's way to the models outside; all of it happens in one event loop, that of `client`."""

    def __init__(self, calls: Calls, cache: ResponseCache, prices: Prices, client: HttpClient, disk: Executor) -> None:
        """`disk` has one thread, in which alone the cache is used."""
        self.settings, self.cache, self.client, self._disk = calls, cache, client, disk
        self.meter = ProgressMeter()
        self.spending = Spending(calls, cache, prices, self.meter, self.on_disk, self.go_on)
        self.random = random.Random()  # only spreads the waits of a back-off: no result depends on it
        self.stopped: CfevalError | None = None
        self._slots = Limit(calls.max_connections)
        self._lanes: dict[tuple[str, str, str, bool], Lane] = {}
        self._stopping = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._answers: set[asyncio.Task[Response]] = set()
        self._locks: dict[str, asyncio.Lock] = {}
        self.batches = Batches(self)

    async def answer(self, call: Request, work: Work) -> Response:
        """The reply to a call, from the cache if it is there; a call that is sent ends even if nobody waits any more.

        Raises:
            CfevalError: every further call would fail, the budget is reached, or the cache cannot be used or is to
                answer alone and cannot. The run sends nothing more.
        """

        def ended(task: asyncio.Task[Response]) -> None:
            self._answers.discard(task)
            if not task.cancelled():
                task.exception()  # looked at, whether or not anybody still waits for the reply

        answer = asyncio.create_task(self._answer(call, work, calls_before()))
        self._answers.add(answer)
        answer.add_done_callback(ended)
        try:
            reply = await asyncio.shield(answer)
        except asyncio.CancelledError:
            if answer.cancelled():  # the grace period is over
                self.go_on()
            raise
        self.go_on()
        return reply

    async def end(self, broken_off: bool) -> None:
        """Send nothing more, and wait for the calls in flight, which are paid for; or break them off."""
        self.stop(CfevalError("broken off"))
        if broken_off:
            self._break_off()
        await asyncio.gather(*self._answers, return_exceptions=True)
        await self.batches.end(broken_off)

    def stop_politely(self, error: StoppedError) -> None:
        """Send nothing more, and break calls in flight off after the grace period (`calls.grace`).

        A signal may call it in the midst of anything, so that only the loop goes on from here.
        """

        def wind_down() -> None:
            self.stop(error)
            grace, flying = self.settings.grace, self.meter.flying
            print(
                f"calls: {error.name}: nothing more is sent, {flying} in flight have {grace:g} s to end (calls.grace); "
                "a second signal ends the run at once",
                file=sys.stderr,
                flush=True,
            )
            self._loop.call_later(grace, self._break_off)

        self.stopped = error
        self._loop.call_soon_threadsafe(wind_down)

    def _break_off(self) -> None:
        for answer in self._answers:
            answer.cancel()
        self.batches.break_off()

    async def _answer(self, call: Request, work: Work, rank: int) -> Response:
        async with self._locks.setdefault(call.key, asyncio.Lock()):
            stored = self._standing(call, await self.on_disk(self.cache.find, call.key))
            if stored is not None:
                self.meter.stored += 1
                return stored
            limits = () if call.batched else (self._lane(call).slots, self._slots)
            async with Slots(*limits, rank=rank) as slots:
                try:
                    return await self._own(call, work, slots)
                except CfevalError as error:
                    self.stop(error)
                    raise

    def _lane(self, call: Request) -> Lane:
        ceiling = min(self.settings.max_connections, call.at_most)
        return self._lanes.setdefault(lane_of(call), Lane(ceiling))

    async def on_disk(self, work: Callable[..., T], *arguments: Any, undo: Callable[[T], None] | None = None) -> T:
        """Have the cache do something in its own thread: while another process writes, answers go on coming in.

        It is done to its end also where nobody waits any more, and then undone where that is needed.
        """
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._disk, partial(work, *arguments))
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            await asyncio.wait([done])
            if done.exception() is None and undo is not None:
                await loop.run_in_executor(self._disk, undo, done.result())
            raise

    def _standing(self, call: Request, response: Response | None) -> Response | None:
        """What the cache answered; a failure that does not stand counts only where nothing can be sent."""
        if response is not None and (response.final or self.settings.offline):
            return response
        if self.settings.offline:
            raise PluginError(
                f"offline: item '{call.item}' needs a call to {call.model} ({call.base_url}) that {self.cache.path} "
                f"does not hold (key {call.key[:12]}…); import the cache that holds it, or run without offline"
            )
        return None

    async def _own(self, call: Request, work: Work, slots: Slots) -> Response:
        """Make the call this job's own and ask, or take what another job was told meanwhile."""
        self.go_on()

        def claimed() -> tuple[Response | None] | None:
            """What the cache holds of a call that is this job's now; None while another is at it."""
            return (self.cache.find(call.key),) if self.cache.claim(call.key, self.settings.deadline) else None

        while (own := await self.on_disk(claimed)) is None:
            await self.pause(batches.POLL if call.batched else _LOOK)
        try:
            stored = self._standing(call, own[0])
            if stored is None:
                return await self._ask(call, work, slots)
            self.meter.stored += 1
        except BaseException:
            await self.on_disk(self.cache.release, call.key)
            raise
        await self.on_disk(self.cache.release, call.key)
        return stored

    async def _ask(self, call: Request, work: Work, slots: Slots) -> Response:
        lane = self._lane(call)
        if not lane.any_ended:
            lane.first.add(call.key)
        attempts = RetryLoop(self, call, self.client, time.monotonic(), slots)
        try:
            with nullcontext() if call.batched else self.meter.counting("flying"):
                result = await work(attempts)
            if isinstance(result, Fault) and result.reaction is RetryPolicy.STOP:
                raise PluginError(f"{call.model}: {result.reason}")
            reply = fault_as_reply(result) if isinstance(result, Fault) else result
            await self.on_disk(self.cache.keep, call, reply, attempts.open)
            self.spending.record_usage(attempts.open)
            attempts.open = None
        finally:
            await attempts.record_usage()
        self.meter.ended(reply)
        self._conclude(lane, call, result)
        return reply

    def pace(self, call: Request) -> Pace:
        """How fast such calls go."""
        return self._lane(call).pace

    async def pause(self, seconds: float) -> None:
        """Wait before a further attempt, or until the run stops.

        Raises:
            CfevalError: it has stopped.
        """
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
        self.go_on()

    def _conclude(self, lane: Lane, call: Request, result: Response | Fault) -> None:
        """End the run where nothing went well and calls fail alike for a reason that is not their own.

        All that began together are waited for: a refusal comes sooner than an answer.
        """
        lane.any_ended = True
        lane.first.discard(call.key)
        if lane.alike is None or not isinstance(result, Fault):
            lane.alike = None
        elif result.systematic:
            lane.alike[result.kind] += 1
            if lane.alike[result.kind] >= ALIKE and not lane.first:
                self.stop(
                    PluginError(
                        f"the first calls all failed alike ({result.reason}); check the network, base_url, the model's "
                        "name and options; `cfeval doctor` tells which"
                    )
                )

    def stop(self, error: CfevalError) -> None:
        """Send nothing more; calls in flight end as they may."""
        self.stopped = self.stopped or error
        self._stopping.set()
        self.spending.wake()
        self.batches.stop(self.stopped)

    def go_on(self) -> None:
        """Before anything is sent.

        Raises:
            CfevalError: the run has stopped.
        """
        if self.stopped is not None:
            raise self.stopped
