"""Calls by batches, at a part of the price: those that a stage has under way together go as one.

A call that is asked waits in a file; once none joins any more, the file goes to the provider, which is asked every
`POLL` seconds how far it is. Batch and calls are noted in the file of the cache before anything is sent
(`cfeval.inference.remote.cache_db`), and the provider is told the batch's own id. So a run that comes after one that
was killed finds the batch by that id, and takes its outcome; no batch is submitted twice.

What a batch left unanswered ends like any call: what may pass (a server's error; the batch expired) is asked again in
the next batch, what was cancelled at the provider or refused is recorded. A batch over the account's limit on tokens
in batches is asked again in halves, one after the other.
"""

import asyncio
import tempfile
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import IO, Any, Protocol, TypeVar

from cfeval.core.config import Calls
from cfeval.core.errors import CfevalError, PluginError
from cfeval.inference.batching import make_room
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.cache_db import Batched, BatchState, Sought
from cfeval.inference.remote.faults import Fault, RetryPolicy
from cfeval.inference.remote.request import Request
from cfeval.inference.remote.settings import ProgressMeter
from cfeval.inference.remote.spending import Spending

T = TypeVar("T")


# The kind of the fault that a batch is not taken up for a limit of the account: it is not at the provider.
REFUSED = "batch_refused"


@dataclass(frozen=True)
class Progress:
    """How far a batch is at its provider: `state` is the provider's word, `over` that it will not change any more.

    `refused` says that the batch went over a limit of the account, so that nothing of it was done.
    """

    state: str
    over: bool
    done: int = 0
    total: int = 0
    refused: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict)


class BatchApi(Protocol):
    """The batches of an account at a provider; a method that fails gives the fault."""

    lane: str
    """What only calls of one batch have in common: address, account and model."""
    max_requests: int
    max_bytes: int

    def line(self, name: str, key: str, body: Mapping[str, Any]) -> bytes:
        """A request as it stands in the file of a batch of that name; the name has no part in its length."""

    async def submit(self, name: str, content: IO[bytes]) -> str | Fault:
        """Submit a batch under a name of ours, and say the provider's."""

    async def find(self, sought: Sought) -> str | Fault | None:
        """The provider's name of a batch that may have been submitted; None where it was not."""

    async def progress(self, remote: str) -> Progress | Fault:
        """How far a batch is."""

    async def outcomes(self, progress: Progress) -> dict[str, dict[str, Any]] | Fault:
        """What came of the calls of a batch that is over, by key; some may be missing."""

    def missing(self, progress: Progress) -> dict[str, Any]:
        """What came of a call that is missing there."""

    def read(self, outcome: Mapping[str, Any]) -> Any | Fault:
        """The answer in an outcome."""


@dataclass(frozen=True)
class Outcome:
    """What came of a call, and its number in the ledger."""

    send: int
    content: Mapping[str, Any] | Fault


@dataclass
class Gathered:
    """Calls that wait to be sent together; `content` are their requests."""

    api: BatchApi
    most: int
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    keys: list[str] = field(default_factory=list)
    content: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    full: bool = False

    def add(self, key: str, body: Mapping[str, Any]) -> int:
        """Take a call in; how many bytes it has, 0 where there is no room any more."""
        line = self.api.line(self.name, key, body)
        room = len(self.keys) < self.most and self.content.tell() + len(line) <= self.api.max_bytes
        if self.full or not (room or not self.keys):
            self.full = True
            return 0
        self.content.write(line)
        self.keys.append(key)
        return len(line)


class Lane:
    """A model at a provider: the batch that gathers, and how many calls one may have."""

    def __init__(self, api: BatchApi) -> None:
        self.gathered: Gathered | None = None
        self.most = api.max_requests
        self.running = 0
        self.limited = False  # a batch was refused for a limit of the account: from then on one at a time

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Around a batch that is at the provider, or may be."""
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1


# Seconds without another call after which a batch is sent, where none is in flight that another may follow.
MOMENT = 5.0
# How often in that time it is looked whether another came.
LOOKS = 5
# Seconds without another call after which a batch is sent in any case.
LONGEST = 60.0
# Seconds between two looks at a batch, here and at the provider.
POLL = 30.0
# Seconds, at most, between two signs that a job which waits for its batches lives.
RENEW = 60.0
# Bytes of requests that may wait in batches before a stage takes up no more: it holds their images meanwhile.
HELD = 512 * 2**20
# Bytes that a waiting request takes besides.
OVERHEAD = 20_000


@dataclass
class _Wait:
    """Who waits for a batch: the future gives what came of it, None where the call is to be asked anew."""

    batch: str
    outcome: "asyncio.Future[Mapping[str, Any] | Fault | None]"


class BatchClient(Protocol):
    """What batches need of the client whose calls they carry (`cfeval.inference.remote.client`)."""

    settings: Calls
    cache: ResponseCache
    meter: ProgressMeter
    spending: Spending

    async def on_disk(self, work: Callable[..., T], *arguments: Any) -> T:
        """Have the cache do something."""

    async def pause(self, seconds: float) -> None:
        """Wait, or raise what stops the run."""

    def go_on(self) -> None:
        """Raise what has stopped the run, if anything has."""

    def stop(self, error: CfevalError) -> None:
        """Send nothing more."""


class Batches:
    """The batches of one client."""

    def __init__(self, client: BatchClient) -> None:
        self._client, self._tables = client, client.cache.batches
        self._lanes: dict[str, Lane] = {}
        self._waits: dict[str, _Wait] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._held = 0

    async def ask(self, call: Request, api: BatchApi, body: Callable[[], Mapping[str, Any]]) -> Outcome:
        """Ask a call by the next batch, or by the one that an earlier run left it in.

        Raises:
            CfevalError: the run has stopped, or the budget is reached.
        """
        self._start("", self._renew)
        batched = await self._client.on_disk(self._tables.call, call.key)
        if batched is None:
            batched = Batched(await self._client.spending.send(call), None, None)
        else:
            self._client.spending.resumed(call, batched.send)
            if batched.outcome is not None and isinstance(api.read(batched.outcome), Fault):
                await self._client.on_disk(self._tables.again, call.key)  # an earlier run did not end it
                batched = replace(batched, batch=None, outcome=None)
        try:
            while batched.outcome is None:
                outcome = await self._waited(call.key, api, body, batched.batch)
                if outcome is not None:
                    return Outcome(batched.send, outcome)
                batched = await self._client.on_disk(self._tables.call, call.key) or replace(batched, batch=None)
        except BaseException:
            if await self._client.on_disk(self._tables.withdraw, call.key):
                await self._client.spending.not_sent(batched.send)
            raise
        return Outcome(batched.send, batched.outcome)

    async def _waited(
        self, key: str, api: BatchApi, body: Callable[[], Mapping[str, Any]], batch: str | None
    ) -> Mapping[str, Any] | Fault | None:
        """What comes of a call in its batch, or in the one that gathers; None where that is to be looked up again."""
        self._client.go_on()
        size = OVERHEAD
        if batch is None:
            batch, more_bytes = self._gather(api, key, body())
            size += more_bytes
        else:
            self._start(batch, partial(self._follow, batch, api))
        wait = self._waits[key] = _Wait(batch, asyncio.get_running_loop().create_future())
        # Meanwhile the stage may take up another request, as long as memory allows.
        more = 1 if self._held + size <= HELD else 0
        self._held += size
        make_room(more)
        try:
            with self._client.meter.counting("batched"):
                return await wait.outcome
        finally:
            self._held -= size
            make_room(-more)
            del self._waits[key]

    def _gather(self, api: BatchApi, key: str, body: Mapping[str, Any]) -> tuple[str, int]:
        """Take a call into the batch that gathers, or into a new one; its name, and the bytes of the call."""
        lane = self._lane(api)
        size = lane.gathered.add(key, body) if lane.gathered else 0
        if not lane.gathered or not size:
            lane.gathered = gathered = Gathered(api, lane.most)
            size = gathered.add(key, body)
            self._start(gathered.name, partial(self._submit, lane, gathered))
        return lane.gathered.name, size

    def _lane(self, api: BatchApi) -> Lane:
        return self._lanes.setdefault(api.lane, Lane(api))

    def _start(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:

        async def done() -> None:
            try:
                await work()
            except CfevalError as error:
                self._client.stop(error)
            except Exception as error:
                self.stop(error)
            finally:
                del self._tasks[name]

        if name not in self._tasks:
            self._tasks[name] = asyncio.create_task(done())

    async def _submit(self, lane: Lane, gathered: Gathered) -> None:
        """A new batch, from its gathering to its end."""
        name, api = gathered.name, gathered.api
        with gathered.content:
            looks, seen = 0, 0
            while not gathered.full:  # until none joins; looks are counted, not seconds: a stage may hold up the loop
                await self._client.pause(MOMENT / LOOKS)
                looks = looks + 1 if len(gathered.keys) == seen else 0
                seen = len(gathered.keys)
                if looks >= LOOKS * (LONGEST / MOMENT if self._client.meter.flying else 1):
                    break
            if lane.gathered is gathered:
                lane.gathered = None
            while lane.limited and lane.running:
                await self._client.pause(POLL)
            self._client.go_on()
            with lane.at_work():
                await self._client.on_disk(self._tables.begin, name, api.lane, gathered.keys)
                await self._client.on_disk(self._client.cache.claim, _claim(name), self._client.settings.deadline)
                remote = await self._sent(gathered)
                gathered.content.close()
                await self._sent_off(name, remote, api)

    async def _sent_off(self, name: str, remote: str | Fault, api: BatchApi) -> None:
        """Follow a batch that is at the provider; where it is not known whether it is, the next run looks."""
        if not isinstance(remote, Fault):
            await self._client.on_disk(self._tables.submitted, name, remote)
            await self._drive(name, remote, api)
        elif remote.kind == REFUSED:
            if not await self._halved(name, api):
                raise PluginError(f"the provider takes up no batch, not even one of a single call: {remote.reason}")
            await self._resolve(name, lambda _: None)
        elif remote.reaction is RetryPolicy.RETRY:
            await self._leave(name, remote)
        else:
            await self._client.on_disk(self._tables.not_sent, name)
            await self._resolve(name, lambda _: remote)

    async def _sent(self, gathered: Gathered) -> str | Fault:
        """Submit a batch; after a fault only where the provider says that it does not have it."""
        result: str | Fault | None = await gathered.api.submit(gathered.name, gathered.content)
        for tried in range(1, self._client.settings.max_retries + 1):
            if not isinstance(result, Fault) or result.reaction is not RetryPolicy.RETRY:
                break
            await self._client.pause(result.wait or min(POLL, 2.0**tried))
            result = await gathered.api.find(await self._client.on_disk(self._tables.sought, gathered.name))
            if result is None:
                self._client.go_on()
                result = await gathered.api.submit(gathered.name, gathered.content)
        assert result is not None
        return result

    async def _leave(self, name: str, fault: Fault) -> None:
        left = replace(fault, reaction=RetryPolicy.RECORD, final=False, sent=True)
        await self._resolve(name, lambda _: left)

    async def _follow(self, name: str, api: BatchApi) -> None:
        """A batch of an earlier run, or of a job beside this one, to its end."""
        deadline = self._client.settings.deadline
        while True:
            ours = await self._client.on_disk(self._client.cache.claim, _claim(name), deadline)
            batch = await self._client.on_disk(self._tables.batch, name)
            if batch.state is BatchState.ENDED:
                await self._resolve(name, lambda _: None)
                return
            if ours:
                break
            await self._client.pause(POLL)
        remote: str | Fault | None = batch.remote
        if not remote:
            sought = await self._client.on_disk(self._tables.sought, name)
            remote = await api.find(sought)
            for tried in range(1, self._client.settings.max_retries + 1):
                if not isinstance(remote, Fault) or remote.reaction is not RetryPolicy.RETRY:
                    break
                await self._client.pause(remote.wait or min(POLL, 2.0**tried))
                remote = await api.find(sought)
        if remote is None:
            await self._client.on_disk(self._tables.not_sent, name)
            await self._resolve(name, lambda _: None)
            return
        with self._lane(api).at_work():
            await self._sent_off(name, remote, api)

    async def _drive(self, name: str, remote: str, api: BatchApi) -> None:
        """Look at a batch until it is over, and pass on what came of it."""
        last_reply = time.monotonic()
        while True:
            progress = await self._look(name, remote, api)
            if isinstance(progress, dict):
                await self._resolve(name, progress.get)
                return
            if not isinstance(progress, Fault):
                last_reply = time.monotonic()
            elif progress.reaction is not RetryPolicy.RETRY:
                raise PluginError(  # asking anew would pay twice
                    f"batch {remote} cannot be looked at: {progress.reason}; set the key that it was submitted with, "
                    "or have its calls asked at once and paid again by calls.batches = false"
                )
            elif time.monotonic() - last_reply > self._client.settings.deadline:
                await self._leave(name, progress)
                return
            await self._client.pause(progress.wait or POLL if isinstance(progress, Fault) else POLL)

    async def _look(self, name: str, remote: str, api: BatchApi) -> dict[str, Mapping[str, Any]] | Fault | None:
        """What came of the calls of a batch that is over, stored; of one to be asked again, nothing."""
        progress = await api.progress(remote)
        if isinstance(progress, Fault):
            return progress
        self._client.meter.batches[name] = progress.done, progress.total
        if not progress.over:
            return None
        if progress.refused and await self._halved(name, api):
            return {}
        outcomes = await api.outcomes(progress)
        if isinstance(outcomes, Fault):
            return outcomes
        missing, lane = api.missing(progress), self._lane(api)
        await self._client.on_disk(self._tables.end, name, outcomes, missing)
        lane.most = min(api.max_requests, 2 * lane.most)
        return {key: outcomes.get(key, missing) for key, wait in self._waits.items() if wait.batch == name}

    async def _halved(self, name: str, api: BatchApi) -> bool:
        """Ask a batch over a limit of the account again in halves, or once the others are over; not one of one call."""
        lane, calls = self._lane(api), sum(wait.batch == name for wait in self._waits.values())
        alone, lane.limited = lane.running == 1, True
        if alone and calls == 1:
            return False
        lane.most = max(1, calls // 2) if alone else calls
        await self._client.on_disk(self._tables.not_sent, name)
        return True

    async def _resolve(self, name: str, outcome: Callable[[str], Mapping[str, Any] | Fault | None]) -> None:
        await self._client.on_disk(self._client.cache.release, _claim(name))
        self._client.meter.batches.pop(name, None)
        for key, wait in self._waits.items():
            if wait.batch == name and not wait.outcome.done():
                wait.outcome.set_result(outcome(key))

    async def pause(self) -> None:
        """Wait until the next look at a batch."""
        await self._client.pause(POLL)

    async def _renew(self) -> None:
        """Say now and then that this job lives, so that no other takes its calls over."""
        while True:
            await self._client.pause(min(RENEW, self._client.settings.deadline / 3))
            await self._client.on_disk(self._client.cache.renew)

    def stop(self, error: Exception) -> None:
        """Wait for no batch any more: the next run finds them."""
        for wait in self._waits.values():
            if not wait.outcome.done():
                wait.outcome.set_exception(error)

    async def end(self, broken_off: bool) -> None:
        """Wait until nothing is being sent any more, or break that off."""
        if broken_off:
            self.break_off()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def break_off(self) -> None:
        """Leave what is being sent to the next run."""
        for task in self._tasks.values():
            task.cancel()


def _claim(name: str) -> str:
    return f"batch {name}"
