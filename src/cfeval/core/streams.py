"""Streams of records: cut into batches, or looked up by key without holding the file.

Every stage passes items on in the order in which they came to it, so that what a stage looks up in another stage's file
lies just ahead of what it looked up before: a window that moves along the file is enough.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import Record

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
R = TypeVar("R", bound=Record)
K_contra = TypeVar("K_contra", contravariant=True)
V_co = TypeVar("V_co", covariant=True)
WINDOW = 4096
"""Records that are kept: more than the edits of all items that any stage holds at a time."""


def batched(things: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut a stream into lists of at most `size`."""
    stream = iter(things)
    while batch := list(islice(stream, size)):
        yield batch


class ByKey(Protocol[K_contra, V_co]):
    """Where things are looked up by key: a mapping, or a window that moves along a file (`cfeval.core.streams`)."""

    def __getitem__(self, key: K_contra) -> V_co:
        """The thing of a key."""


class Window(Generic[K, V]):
    """Things of a stream by key. Any order of lookups is right, that of the stream is fast.

    Args:
        things: the stream; it is gone through again where something lies behind the window.
        key: what a thing is looked up by; of equal keys one is found.
        window: how many things are kept.
    """

    def __init__(self, things: Iterable[V], key: Callable[[V], K], window: int = WINDOW) -> None:
        self._things, self._key, self._window = things, key, window
        self._kept: dict[K, V] = {}
        self._order: deque[K] = deque()
        self._rest, self._place = iter(things), 0

    def find(self, key: K) -> V | None:
        """The thing of a key; None, after a look at all of them, where there is none."""
        if key not in self._kept and not any(found == key for found in self._onward()):
            return None
        return self._kept[key]

    def _onward(self) -> Iterator[K]:
        """Takes every thing once, from the present place to the end and on from the beginning."""
        start = self._place
        yield from self._taken()
        self._rest, self._place = iter(self._things), 0
        while self._place < start:
            yield next(self._taken())

    def _taken(self) -> Iterator[K]:
        for thing in self._rest:
            self._place += 1
            key = self._key(thing)
            if key not in self._kept:
                self._order.append(key)
            self._kept[key] = thing
            if len(self._order) > self._window:
                del self._kept[self._order.popleft()]
            yield key


class StreamingLookup(Window[K, R]):
    """The records of a JSONL file by key, through a window.

    Args:
        path: the file.
        kind: of its records.
        key: what they are looked up by.
        window: how many records are kept.
    """

    def __init__(self, path: Path, kind: type[R], key: Callable[[R], K], window: int = WINDOW) -> None:
        super().__init__(_Records(path, kind), key, window)
        self._path = path

    def __getitem__(self, key: K) -> R:
        """The record of a key.

        Raises:
            InputError: the file has none, is missing, or a line of it is no such record.
        """
        found = self.find(key)
        if found is None:
            raise InputError(f"{self._path}: no record of {_named(key)}; give the files of one and the same run")
        return found


class _Records(Generic[R]):
    def __init__(self, path: Path, kind: type[R]) -> None:
        self._path, self._kind = path, kind

    def __iter__(self) -> Iterator[R]:
        return read_jsonl(self._path, self._kind)


def _named(key: object) -> str:
    item, *edit = key if isinstance(key, tuple) else (key,)
    return f"'{item}'" + "".join(f", edit {number}" for number in edit)
