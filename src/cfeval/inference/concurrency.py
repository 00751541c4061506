"""Requests whose calls go side by side: as one ends the next begins; a slow one holds up nothing but its own turn."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from threading import Semaphore
from typing import TypeVar

from cfeval.core.errors import CfevalError
from cfeval.inference.remote.event_loop import EventLoopThread
from cfeval.inference.remote.settings import settings

Q = TypeVar("Q")
R = TypeVar("R")
AHEAD = 16
"""How many replies may wait for an earlier one, as a multiple of the calls at once: while a slow call is under way the
others can make so many rounds."""


def map_concurrently(requests: Iterable[Q], serve: Callable[[list[Q]], Sequence[R]]) -> Iterator[R]:
    """Have each request answered in a thread of its own; their replies, in order.

    Args:
        requests: taken as they are needed, in this thread.
        serve: from a list of one request to its reply.

    Raises:
        CfevalError: what `serve` or `requests` raise; calls in flight are waited for and stored first.
    """
    max_connections = settings().max_connections
    under_way = 2 * max_connections - 1  # each slot that falls free has somebody waiting, even where all do so together
    free = Semaphore(under_way)
    waiting: deque[Future[R]] = deque()

    def one(request: Q) -> R:
        try:
            [reply] = serve([request])
            return reply
        finally:
            free.release()

    with closing(EventLoopThread()) as line, ThreadPoolExecutor(under_way) as threads:
        context = line.context()
        try:
            for request in requests:
                free.acquire()
                waiting.append(threads.submit(context.copy().run, one, request))
                while waiting and (waiting[0].done() or len(waiting) > AHEAD * max_connections):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except KeyboardInterrupt:
            line.close()
            raise
        except BaseException:  # also where nobody wants the rest
            line.stop(CfevalError("broken off"))
            threads.shutdown(wait=False, cancel_futures=True)
            raise
