"""Records of a file by key without holding the file: a window that moves along it.

Every stage passes items on in the order in which they came to it, so that what a stage looks up in another stage's file
lies just ahead of what it looked up before.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

from cfeval.errors import InputError
from cfeval.io.records import read_jsonl
from cfeval.records.common import Record

K = TypeVar("K", bound=Hashable)
R = TypeVar("R", bound=Record)
WINDOW = 4096
"""Records that are kept: more than the edits of all items that any stage holds at a time."""


class Following(Generic[K, R]):
    """The records of a JSONL file by key. Files in any order are read rightly, in the order of the lookups fast.

    Args:
        path: the file.
        kind: of its records.
        key: what they are looked up by; of equal keys one is found.
        window: how many records are kept.
    """

    def __init__(self, path: Path, kind: type[R], key: Callable[[R], K], window: int = WINDOW) -> None:
        self._path, self._kind, self._key, self._window = path, kind, key, window
        self._kept: dict[K, R] = {}
        self._order: deque[K] = deque()
        self._rest, self._place = read_jsonl(path, kind), 0

    def __getitem__(self, key: K) -> R:
        """The record of a key.

        Raises:
            InputError: the file has none, is missing, or a line of it is no such record.
        """
        if key not in self._kept and not any(found == key for found in self._onward()):
            raise InputError(f"{self._path}: no record of {_named(key)}; give the files of one and the same run")
        return self._kept[key]

    def _onward(self) -> Iterator[K]:
        """Takes every record of the file once, from the present place to the end and on from the beginning."""
        start = self._place
        yield from self._taken()
        self._rest, self._place = read_jsonl(self._path, self._kind), 0
        while self._place < start:
            yield next(self._taken())

    def _taken(self) -> Iterator[K]:
        for record in self._rest:
            self._place += 1
            key = self._key(record)
            if key not in self._kept:
                self._order.append(key)
            self._kept[key] = record
            if len(self._order) > self._window:
                del self._kept[self._order.popleft()]
            yield key


def _named(key: object) -> str:
    item, *edit = key if isinstance(key, tuple) else (key,)
    return f"'{item}'" + "".join(f", edit {number}" for number in edit)
