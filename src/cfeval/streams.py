"""Streams of records: cut into batches, or looked up by key."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Protocol, TypeVar

T = TypeVar("T")
K_contra = TypeVar("K_contra", contravariant=True)
V_co = TypeVar("V_co", covariant=True)


class ByKey(Protocol[K_contra, V_co]):
    """Where things are looked up by key: a mapping, or a window that moves along a file (`cfeval.io.following`)."""

    def __getitem__(self, key: K_contra) -> V_co:
        """The thing of a key."""


def batched(things: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut a stream into lists of at most `size`."""
    stream = iter(things)
    while batch := list(islice(stream, size)):
        yield batch
