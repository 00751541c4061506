"""Streams of records: cut into batches, or looked up by key without holding the file.

Every stage passes items on in the order in which they came to it, so that what a stage looks up in another stage's file
lies just ahead of what it looked up before: a window that moves along the file is enough (`StreamingLookup`). Where
the order is not known, or a record need not be there, the places of all lines are kept (`RecordIndex`, `Grouped`).
"""

from array import array
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np

from cfeval.core.errors import InputError
from cfeval.core.jsonl import parse_line, read_jsonl, read_lines
from cfeval.core.records import Record

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
R = TypeVar("R", bound=Record)
K_contra = TypeVar("K_contra", contravariant=True)
V_co = TypeVar("V_co", covariant=True)
# Records that are kept: more than the edits of all items that any stage holds at a time.
WINDOW = 4096


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
        if key not in self._kept and not any(taken == key for taken in self._onward()):
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
        record = self.find(key)
        if record is None:
            item, *edit = key if isinstance(key, tuple) else (key,)
            name = f"'{item}'" + "".join(f", edit {number}" for number in edit)
            raise InputError(f"{self._path}: no record of {name}; give the files of one and the same run")
        return record


class _Records(Generic[R]):
    def __init__(self, path: Path, kind: type[R]) -> None:
        self._path, self._kind = path, kind

    def __iter__(self) -> Iterator[R]:
        return read_jsonl(self._path, self._kind)


_BOM = b"\xef\xbb\xbf"
# Bits of a place that say where in its file it is: files may have a terabyte.
_OFFSET = 40
_MASK = (1 << 64) - 1


class _Lines(Generic[R]):
    """The lines of some files by their places."""

    def __init__(self, files: Sequence[Path], kind: type[R]) -> None:
        self.files, self.kind = tuple(files), kind

    def all(self) -> Iterator[tuple[int, R]]:
        """Every record with its place; InputError as from `read_jsonl`."""
        for file_number, file in enumerate(self.files):
            offset = 0
            for number, line in enumerate(read_lines(file), start=1):
                if number == 1:  # read_lines has taken the mark away; it is there where a file begins with it
                    with file.open("rb") as stream:
                        offset = len(_BOM) if stream.read(len(_BOM)) == _BOM else 0
                if line.strip():
                    yield file_number << _OFFSET | offset, parse_line(file, number, line, self.kind)
                offset += len(line.encode())

    def file_of(self, place: int) -> Path:
        """The file that a place is in."""
        return self.files[place >> _OFFSET]

    def at(self, place: int) -> R:
        """The record at a place."""
        with self.file_of(place).open("rb") as stream:
            stream.seek(place & ((1 << _OFFSET) - 1))
            return self.kind.model_validate_json(stream.readline())


class RecordIndex(Mapping[str, R]):
    """Records by their field `id`, in the order of the files; sixteen bytes a record are kept.

    Raises:
        InputError: a file is missing, a line is no such record, or two records have one id.
    """

    def __init__(self, files: Sequence[Path], kind: type[R]) -> None:
        self._lines = _Lines(files, kind)
        hashes, places = array("Q"), array("Q")
        for place, record in self._lines.all():
            hashes.append(_hash(_id(record)))
            places.append(place)
        order = np.argsort(np.array(hashes, dtype=np.uint64), kind="stable")
        self._hashes = np.array(hashes, dtype=np.uint64)[order]
        self._places = np.array(places, dtype=np.uint64)[order]
        for row in np.flatnonzero(self._hashes[1:] == self._hashes[:-1]):
            first, other = _id(self._at(int(row))[1]), _id(self._at(int(row) + 1)[1])
            if first == other:
                named = " + ".join(map(str, self._lines.files))
                raise InputError(f"{named}: two records of '{first}'; give each file once")

    def __getitem__(self, key: str) -> R:
        """The record of an id; KeyError where there is none."""
        return self.where(key)[1]

    def where(self, key: str) -> tuple[Path, R]:
        """The file that a record stands in, and the record; KeyError where there is none."""
        sought = np.uint64(_hash(key))
        row = int(np.searchsorted(self._hashes, sought))
        while row < len(self._hashes) and self._hashes[row] == sought:
            file, record = self._at(row)
            if _id(record) == key:
                return file, record
            row += 1
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        """The ids."""
        return (_id(record) for _, record in self._lines.all())

    def __len__(self) -> int:
        """How many there are."""
        return len(self._places)

    def _at(self, row: int) -> tuple[Path, R]:
        place = int(self._places[row])
        return self._lines.file_of(place), self._lines.at(place)


class Grouped(Generic[K, R]):
    """Records by a key that several share; eight bytes a record are kept, and its key once.

    Args:
        files: the files.
        kind: of their records.
        key: what records of one group share.
    """

    def __init__(self, files: Sequence[Path], kind: type[R], key: Callable[[R], K]) -> None:
        self._lines = _Lines(files, kind)
        self._places: dict[K, array[int]] = {}
        for place, record in self._lines.all():
            self._places.setdefault(key(record), array("Q")).append(place)

    def __iter__(self) -> Iterator[K]:
        """The keys, in the order in which they first occur."""
        return iter(self._places)

    def __getitem__(self, key: K) -> "Group[R]":
        """The records of a key, in the order of the files; none of a key that does not occur."""
        return Group(self._lines, self._places.get(key, array("Q")))


class Group(Generic[R]):
    """The records of one group, as often as they are gone through; each is read when it is its turn."""

    def __init__(self, lines: "_Lines[R]", places: "array[int]") -> None:
        self._lines, self._places = lines, places

    def __len__(self) -> int:
        """How many there are."""
        return len(self._places)

    def __iter__(self) -> Iterator[R]:
        """In the order of the files."""
        return map(self._lines.at, self._places)


def _id(record: Record) -> str:
    record_id: str = record.id  # type: ignore[attr-defined]
    return record_id


def _hash(item: str) -> int:
    return hash(item) & _MASK
