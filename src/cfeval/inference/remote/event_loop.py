"""The event loop of a job's calls, in a thread of its own: all its work shares limits, counts and connections.

Work of one thread opens the line for itself. Where several threads work side by side (`cfeval.inference.concurrency`),
one line is opened for all of them.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import closing
from contextvars import Context, ContextVar, copy_context
from pathlib import Path
from typing import TypeVar

from cfeval.core.errors import CfevalError
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.client import Client
from cfeval.inference.remote.cost import load_prices
from cfeval.inference.remote.http import open_client
from cfeval.inference.remote.settings import settings

T = TypeVar("T")
_Opened = Future[tuple[Client, asyncio.AbstractEventLoop, asyncio.Event]]
Task = Callable[[Client], Awaitable[T]]


class EventLoopThread:
    """A caller, and the loop that it works in.

    Raises:
        CfevalError: settings, cache or price list cannot be used.
    """

    def __init__(self) -> None:
        opened: _Opened = Future()
        self._thread = threading.Thread(target=_thread, args=[opened], name="calls", daemon=True)
        self._thread.start()
        self._caller, self._loop, self._closing = opened.result()
        self._over = False

    def run(self, tasks: Sequence[Task[T]]) -> list[T]:
        """See `run_all`."""
        return asyncio.run_coroutine_threadsafe(_all(tasks, self._caller), self._loop).result()

    def stop(self, error: CfevalError) -> None:
        """Send nothing more; calls in flight end as they may."""
        self._loop.call_soon_threadsafe(self._caller.stop, error)

    def context(self) -> Context:
        """A context, a copy of this thread's, in which `run_all` takes this line."""
        context = copy_context()
        context.run(_LINE.set, self)
        return context

    def close(self) -> None:
        """End what is still under way, wait until it has put things in order, and close cache and connections."""
        if not self._over:
            self._over = True
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()


_LINE: ContextVar[EventLoopThread] = ContextVar("line")


def run_all(tasks: Sequence[Task[T]]) -> list[T]:
    """Do several pieces of work that call models outside, all at once; their results, in order.

    Where the run must stop, calls in flight are waited for and stored first: they are paid for.

    Raises:
        CfevalError: see `Caller.answer`.
    """
    if not tasks:
        return []
    if line := _LINE.get(None):
        return line.run(tasks)
    with closing(EventLoopThread()) as line:
        return line.run(tasks)


def _thread(opened: _Opened) -> None:
    try:
        asyncio.run(_serve(opened))
    except BaseException as error:
        if opened.done():
            raise
        opened.set_exception(error)


async def _serve(opened: _Opened) -> None:
    """Be there for calls until the line is closed."""
    calls = settings()
    prices = load_prices(calls.prices)
    with closing(ResponseCache(Path(calls.cache))) as cache:
        async with open_client() as client:
            caller, over = Client(calls, cache, prices, client), asyncio.Event()
            with caller.meter.shown():
                opened.set_result((caller, asyncio.get_running_loop(), over))
                await over.wait()
                left = asyncio.all_tasks() - {asyncio.current_task()}
                for task in left:
                    task.cancel()
                await asyncio.gather(*left, return_exceptions=True)


async def _all(tasks: Sequence[Task[T]], caller: Client) -> list[T]:
    results = await asyncio.gather(*(task(caller) for task in tasks), return_exceptions=True)
    wrong = [result for result in results if isinstance(result, BaseException)]
    for error in (*(e for e in wrong if not isinstance(e, CfevalError)), caller.stopped, *wrong):
        if error is not None:
            raise error
    return [result for result in results if not isinstance(result, BaseException)]
