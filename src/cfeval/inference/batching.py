"""One request, one reply: the event loop in which the requests of a stage are answered, and batches of local models.

    stage       map_requests(records, request, plugin.method, batch): the replies in the order of the records
    plugin      async def method(request) -> reply
    model       a hosted one awaits its client, which all requests share; a local one awaits its `Batcher`

The loop runs in the thread that takes the replies, and only while it waits for one. Requests are taken one by one.
Where all is local, `batch` of them are answered before more are taken, so that equal studies make equal batches. Once
something outside is called, such as a provider, the next request is taken as soon as one is answered: a slow one holds
up nothing but its turn.
"""

import asyncio
import selectors
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from contextvars import ContextVar, copy_context
from types import TracebackType
from typing import Any, Generic, TypeVar

from cfeval.inference.remote.settings import settings

T = TypeVar("T")
Q = TypeVar("Q")
R = TypeVar("R")
# How many requests are open for each call at once beyond the first: each slot that falls free has somebody waiting, and
# at the end few of them have more than their last call to make. With one call at a time there is one.
OPEN = 4
# How many replies may wait for an earlier one, as a multiple of the calls at once: while a slow call is under way the
# others can make so many rounds.
AHEAD = 16


def map_requests(
    things: Iterable[T], request: Callable[[T], Q], answer: Callable[[Q], Coroutine[Any, Any, R]], batch: int
) -> Iterator[tuple[T, R]]:
    """Have a request about each thing answered, many at a time.

    Args:
        things: taken as they are needed, and so is what `request` opens.
        request: what is asked about one.
        answer: a plugin's method, or a function that calls some.
        batch: how many requests are open at a time where all is local; calls outside follow `calls.max_connections`.

    Yields:
        Every thing with its reply, in order.

    Raises:
        Exception: the first, in order, that `answer` raises, or at once one of `things` or `request`. Whatever ends
            the run, calls in flight are waited for and stored first; after a signal no longer than `calls.grace`.
    """
    left, taken = iter(things), deque[tuple[T, "asyncio.Task[R]"]]()
    with _Loop(batch) as loop:
        while True:
            while loop.has_room(len(taken), ready=bool(taken) and taken[0][1].done()):
                try:
                    thing = next(left)
                except StopIteration:
                    loop.takes = False
                    break
                taken.append((thing, loop.start(answer(request(thing)))))
            if not taken:
                return
            if taken[0][1].done():
                thing, task = taken.popleft()
                yield thing, task.result()
            else:
                loop.run(settles=False)


def answered(answer: Callable[[Q], Coroutine[Any, Any, R]], request: Q) -> R:
    """The reply to one request, for code that cannot await: in a thread beside the event loop, or without a loop.

    Raises:
        Exception: what `answer` raises; also where the run has ended meanwhile.
    """
    loop = _LOOP.get(None)
    if loop is None:
        [(_, reply)] = map_requests([request], lambda same: same, answer, 1)
        return reply
    return loop.answered(answer(request))


async def beside(work: Callable[[], T], threads: Executor) -> T:
    """Do some work in a thread, where it may wait for models by `answered`; no batch is made while it computes.

    So where all is local, whatever is under way comes as far as it can before a batch is made of what it waits for,
    and equal studies make equal batches. `threads` must have one free, or one that does not wait for a model.
    """
    loop = _LOOP.get(None)
    if loop is None:
        return await asyncio.get_running_loop().run_in_executor(threads, copy_context().run, work)
    return await loop.beside(work, threads)


class Batcher(Generic[Q, R]):
    """Lets a local model answer in batches: requests wait until no other can go on, and go together.

    In a stage where all is local a batch is all that its open requests ask at a time, and is computed in the main
    thread. Where something outside is called too, it is computed in a thread beside the calls, of what waits when that
    thread is free.
    """

    def __init__(self, batch: Callable[[list[Q]], Sequence[R]], exact: bool = True) -> None:
        """`batch` gives the replies to some requests, in order; no reply may depend on the other requests.

        Where that is not so to the last bit (`exact` is false), requests that have no certain company, as where
        something outside is called too, go one by one.
        """
        self.batch, self.exact = batch, exact

    async def answer(self, request: Q) -> R:
        """The reply to a request; outside of `map_requests` it is a batch of its own."""
        loop = _LOOP.get(None)
        if loop is None:
            [reply] = self.batch([request])
            return reply
        return await loop.batched(self, request)


async def shared(open_: Callable[[], AbstractAsyncContextManager[T]]) -> T:
    """What `open_` opens: once for all requests that are answered together, closed after the last of them.

    It is meant for what calls something outside of this process, such as an HTTP client.

    Raises:
        RuntimeError: outside of `map_requests`.
    """
    loop = _LOOP.get(None)
    if loop is None:
        raise RuntimeError("calls are made by cfeval.inference.batching.map_requests")
    opened: T = await loop.share(open_)
    return opened


def calls_before() -> int:
    """How many calls were made before for the request at hand; the next time it is one more."""
    calls = _CALLS.get()
    calls[0] += 1
    return calls[0] - 1


def make_room(requests: int) -> None:
    """Let so many more requests be open at a time, or fewer: one that waits for hours is not to hold up others.

    Whoever makes room takes it back when the wait is over.
    """
    loop = _LOOP.get()
    loop._at_once += requests
    if requests > 0 and not loop._settles and not loop._goal.done():
        loop._goal.set_result(None)  # the next request is taken now, not once one is answered


class _Selector(selectors.DefaultSelector):
    """Asks `idle` whenever the event loop has nothing to do but wait; it does not wait where that says so."""

    def __init__(self, idle: Callable[[], bool]) -> None:
        super().__init__()
        self._idle = idle

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """See `asyncio`: it passes a `timeout` of 0 where a task can go on."""
        return super().select(0 if timeout != 0 and self._idle() else timeout)


class _Loop:
    def __init__(self, batch: int) -> None:
        self.takes = True
        self._batch, self._filling = batch, True
        self._loop = asyncio.SelectorEventLoop(_Selector(self._idle))
        self._context = copy_context()
        self._context.run(_LOOP.set, self)
        self._open: set[asyncio.Task[Any]] = set()
        self._goal: asyncio.Future[None] = self._loop.create_future()
        self._settles = False
        self._waiting: dict[Batcher[Any, Any], list[_Waiting]] = {}
        self._begun = self._beside = 0  # works in threads: how many there were, and how many compute now
        self._worker: ThreadPoolExecutor | None = None
        self._computes = False
        self._computing: asyncio.Task[None] | None = None
        self._shared: dict[Any, Any] = {}
        self._at_once = 0
        self._stack, self._lock = AsyncExitStack(), asyncio.Lock()

    def __enter__(self) -> "_Loop":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End what is still open; calls in flight are waited for, or on a Ctrl-C that nobody heard broken off."""
        broken_off = isinstance(error, KeyboardInterrupt)
        try:
            self._loop.run_until_complete(self._end(asyncio.CancelledError() if broken_off else None))
            if self._worker:
                self._worker.shutdown(wait=not broken_off, cancel_futures=True)
        finally:
            self._loop.close()

    async def _end(self, error: BaseException | None) -> None:
        self._waiting.clear()
        await _cancelled({*self._open, self._computing} if self._computing else self._open)
        await self._stack.__aexit__(type(error) if error else None, error, None)
        await _cancelled({task for task in asyncio.all_tasks() if task is not asyncio.current_task()})
        await self._loop.shutdown_default_executor()

    def has_room(self, taken: int, ready: bool) -> bool:
        """Whether another request is to be taken, where so many things have not been passed on, and one could be."""
        if self._shared:
            open_ = len(self._open) <= OPEN * (self._at_once - 1) and taken < AHEAD * self._at_once
            return self.takes and not ready and open_
        self._filling = taken == 0 or (self._filling and taken < self._batch)
        return self.takes and self._filling

    def start(self, answer: Coroutine[Any, Any, R]) -> "asyncio.Task[R]":
        """Begin to answer a request; until something outside is called, let it go on until it waits."""
        context = self._context.copy()
        context.run(_CALLS.set, [0])
        task = self._loop.create_task(answer, context=context)
        self._open.add(task)
        task.add_done_callback(self._ended)
        if not self._shared:
            self.run(settles=True)
        return task

    def run(self, settles: bool) -> None:
        """Go on until one more request is answered, or until all wait (`settles`)."""
        self._goal, self._settles = self._loop.create_future(), settles
        self._loop.run_until_complete(self._goal)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._open.discard(task)
        if not task.cancelled() and task.exception():
            self.takes = False
        if not self._settles and not self._goal.done():
            self._goal.set_result(None)

    def _idle(self) -> bool:
        """What there is to do where every task waits; whether there was anything."""
        if self._settles and not self._goal.done():
            self._goal.set_result(None)
            return True
        if not self._waiting or self._computes or self._settles or (self._beside and not self._shared):
            return False
        self._computes = True
        self._computing = self._loop.create_task(self._compute())
        return True

    def answered(self, answer: Coroutine[Any, Any, R]) -> R:
        """See the function of this name."""

        async def awaited() -> R:
            if not _PLACE.get():
                return await answer
            self._beside -= 1
            try:
                return await answer
            finally:
                self._beside += 1

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result()

    async def beside(self, work: Callable[[], T], threads: Executor) -> T:
        """See the function of this name."""
        context = copy_context()
        self._begun += 1
        context.run(_PLACE.set, self._begun)
        self._beside += 1
        try:
            return await self._loop.run_in_executor(threads, context.run, work)
        finally:
            self._beside -= 1

    async def batched(self, batcher: Batcher[Q, R], request: Q) -> R:
        """The reply to a request, once it has been in a batch."""
        reply: asyncio.Future[R] = self._loop.create_future()
        self._waiting.setdefault(batcher, []).append((_PLACE.get(), request, reply))
        return await reply

    def _next_batch(self) -> tuple[Batcher[Any, Any], list[tuple[Any, asyncio.Future[Any]]]]:
        """The batch that has waited longest; of works in threads, who knows who came first, that of the first begun."""
        batcher = min(self._waiting, key=lambda batcher: min(place for place, _, _ in self._waiting[batcher]))
        waiting = sorted(self._waiting.pop(batcher), key=lambda entry: entry[0])
        if self._shared and not batcher.exact and waiting[1:]:
            self._waiting[batcher] = waiting[1:]
            waiting = waiting[:1]
        return batcher, [(request, reply) for _, request, reply in waiting if not reply.done()]

    async def _compute(self) -> None:
        batcher, waiting = self._next_batch()
        requests = [request for request, _ in waiting]
        try:
            if self._shared:
                self._worker = self._worker or ThreadPoolExecutor(1)
                replies = await self._loop.run_in_executor(self._worker, batcher.batch, requests)
            else:
                replies = batcher.batch(requests)
            for (_, reply), value in list(zip(waiting, replies, strict=True)):
                if not reply.done():
                    reply.set_result(value)
        except Exception as error:
            for _, reply in waiting:
                if not reply.done():
                    reply.set_exception(error)
        finally:
            self._computes = False

    async def share(self, open_: Callable[[], AbstractAsyncContextManager[T]]) -> T:
        """See `shared`."""
        async with self._lock:
            if open_ not in self._shared:
                self._at_once = settings().max_connections
                self._shared[open_] = await self._stack.enter_async_context(open_())
        opened: T = self._shared[open_]
        return opened


async def _cancelled(tasks: Collection["asyncio.Task[Any]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# The place of who waits, the request, the reply to come.
_Waiting = tuple[int, Any, "asyncio.Future[Any]"]
# The number of the work in a thread that this context belongs to, from 1 on; 0: none.
_PLACE: ContextVar[int] = ContextVar("place", default=0)
# How many calls were made for the request that this context belongs to.
_CALLS: ContextVar[list[int]] = ContextVar("calls")
_LOOP: ContextVar[_Loop] = ContextVar("loop")
