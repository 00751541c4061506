"""Streams of records, cut into batches."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(things: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut a stream into lists of at most `size`."""
    stream = iter(things)
    while batch := list(islice(stream, size)):
        yield batch
