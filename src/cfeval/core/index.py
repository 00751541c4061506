"""Records of JSONL files wherever they stand, without holding them: places are kept, and a line is read when asked for.

For what is looked up in no order, or what need not be there; `cfeval.core.streams` keeps less where the order is known.
"""

from array import array
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from cfeval.core.errors import InputError
from cfeval.core.jsonl import parse_line, read_lines
from cfeval.core.records import Record

K = TypeVar("K", bound=Hashable)
R = TypeVar("R", bound=Record)
_BOM = b"\xef\xbb\xbf"
_OFFSET = 40
"""Bits of a place that say where in its file it is: files may have a terabyte."""
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
        self._refuse_twice()

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

    def _refuse_twice(self) -> None:
        for row in np.flatnonzero(self._hashes[1:] == self._hashes[:-1]):
            one, other = _id(self._at(int(row))[1]), _id(self._at(int(row) + 1)[1])
            if one == other:
                named = " + ".join(map(str, self._lines.files))
                raise InputError(f"{named}: two records of '{one}'; give each file once")


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
    found: str = record.id  # type: ignore[attr-defined]
    return found


def _hash(item: str) -> int:
    return hash(item) & _MASK
