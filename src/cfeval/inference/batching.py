"""Requests in, replies out, in order: in batches, or side by side where a plugin can work on many at once.

A model on this machine is fastest in batches. One behind a provider answers some calls much later than others, and in
batches all would wait for the slowest of each; such a plugin says by its attribute `map_concurrently` how its requests
go side by side (`cfeval.inference.concurrency`). One that is made of others has the attribute where all of these have
it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Protocol, TypeVar

from cfeval.core.streams import batched

T = TypeVar("T")
Q = TypeVar("Q")
R = TypeVar("R")


class SideBySide(Protocol):
    """Has each request answered by itself, many at a time; replies come in order."""

    def __call__(self, requests: Iterable[Q], serve: Callable[[list[Q]], Sequence[R]], /) -> Iterator[R]:
        """The replies; `serve` is called from several threads, `requests` are taken in this one as they are needed."""
        ...


def map_requests(
    plugin: object,
    things: Iterable[T],
    request: Callable[[T], Q],
    serve: Callable[[list[Q]], Sequence[R]],
    batch: int,
) -> Iterator[tuple[T, R]]:
    """Have a plugin answer a request about each thing.

    Args:
        plugin: who answers.
        things: taken as they are needed, and so is what `request` opens.
        request: what is asked about one.
        serve: from some requests to their replies, in order.
        batch: how many requests it is given at a time, unless they go side by side.

    Yields:
        Every thing with its reply, in order.
    """
    taken: deque[T] = deque()

    def requests() -> Iterator[Q]:
        for thing in things:
            taken.append(thing)
            yield request(thing)

    map_concurrently = together(plugin) or partial(_in_batches, batch)
    for reply in map_concurrently(requests(), serve):
        yield taken.popleft(), reply


def _in_batches(batch: int, requests: Iterable[Q], serve: Callable[[list[Q]], Sequence[R]]) -> Iterator[R]:
    for some in batched(requests, batch):
        yield from serve(some)


def together(*plugins: object) -> SideBySide | None:
    """How the requests of something made of these plugins go side by side; None where one of them takes batches."""
    ways: list[SideBySide | None] = [getattr(plugin, "map_concurrently", None) for plugin in plugins]
    return ways[0] if all(ways) else None
