"""What a damaged cache still holds, read page by page: no index, schema or page above another need be whole.

Plain SQL finds the same rows but where the first page or a table's root is damaged: then it finds none of the table.
A call is taken only where its seal is right and its image is there, so that nothing damaged gets through. The layout of
pages, cells and records is that of https://www.sqlite.org/fileformat2.html.
"""

import hashlib
import os
import re
import sqlite3
import struct
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfeval.core.errors import InputError
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.cache_db import COLUMNS, StoredCall

_MAGIC = b"SQLite format 3\0"
# Bytes of a page where the file does not say: SQLite's own choice.
_PAGE = 4096
# The kind of a page that holds rows.
_LEAF = 13
# Bytes of an integer, by its type in a record.
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_KEY = re.compile(r"[0-9a-f]{64}")
_UNREADABLE = (IndexError, ValueError, struct.error)
# Columns of a row of the ledger; the first, its number, stands outside of the record.
_SENT = 11


@dataclass(frozen=True)
class Recovered:
    """How much came over.

    `named` counts the calls that the index names; where that is damaged too (`whole` is False), those that rows or the
    ledger name: more than there were where some had been removed, less where both are damaged.
    """

    calls: int
    named: int
    whole: bool
    sends: int


def recover(source: Path, out: Path) -> Recovered:
    """Write what a damaged cache still holds into a new one, which appears whole or not at all; `source` stays.

    Raises:
        InputError: there is no such file, `out` is there already, or nothing can be read.
    """
    if not source.is_file():
        raise InputError(f"{source}: no such file")
    if out.exists():
        raise InputError(f"{out}: is there already; name a new file")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        made = Path(folder) / "cache"
        with closing(ResponseCache(made)) as cache, _Pages(source) as pages:
            index = _keys(source, Path(folder))
            images = {
                row[0]: (number, at)
                for number, at, row in _rows(pages)
                if (len(row) == 2 and isinstance(row[1], bytes) and hashlib.sha256(row[1]).hexdigest() == row[0])
            }
            named: set[str] = set()
            sends: dict[int, list[Any]] = {}
            for _, at, row in _rows(pages):
                if _is_sent(row):
                    named |= {row[1]} if row[5] == "ok" else set()
                    sends[at[1]] = [at[1], *row[1:]] if at[1] not in sends or row[5] is not None else sends[at[1]]
                elif len(row) == len(COLUMNS) and _is_key(row[0]):
                    named.add(row[0])
                    call = StoredCall.of_columns(**{**dict(zip(COLUMNS, row, strict=True)), "final": row[8] == 1})
                    if not call.fault() and (call.image is None or call.image in images):
                        cache.add(call, _image(pages, images, call.image))
            cache.add_sends(sends.values())
            count = len(named if index is None else index)
            result = Recovered(sum(1 for _ in cache.calls()), count, index is not None, len(sends))
        if not result.calls and not result.sends:
            raise InputError(f"{source}: nothing of a response cache is left in it; take an export or a copy")
        made.rename(out)
    return result


def _image(pages: "_Pages", images: dict[str, Any], sha256: str | None) -> bytes | None:
    if sha256 is None:
        return None
    number, (offset, _) = images[sha256]
    _, row = pages.row(number, offset)
    return bytes(row[1])


def _is_sent(row: list[Any]) -> bool:
    """Whether a row is one of the ledger, which has no seal: by the types of all its columns."""
    return (
        len(row) == _SENT
        and row[0] is None
        and _is_key(row[1])
        and isinstance(row[2], str)
        and all(isinstance(value, int | float) for value in (*row[3:5], *row[8:]))
        and (row[5] is None or isinstance(row[5], str))
        and all(value is None or isinstance(value, int | float) for value in row[6:8])
    )


def _is_key(value: Any) -> bool:
    return isinstance(value, str) and _KEY.fullmatch(value) is not None


def _keys(source: Path, folder: Path) -> set[str] | None:
    """All keys by the index of calls, if SQLite can still read that in a copy."""
    copy = folder / "copy"
    for suffix in ("", "-wal"):
        beside = source.with_name(source.name + suffix)
        if beside.is_file():
            copy.with_name(copy.name + suffix).write_bytes(beside.read_bytes())
    try:
        with closing(sqlite3.connect(copy)) as db:
            return {str(key) for (key,) in db.execute("SELECT key FROM calls INDEXED BY sqlite_autoindex_calls_1")}
    except (sqlite3.Error, UnicodeDecodeError):
        return None


def _rows(pages: "_Pages") -> Iterator[tuple[int, tuple[int, int], list[Any]]]:
    """Every row that can be read: its page, its place there with its number in the table, its columns."""
    for number in pages.numbers():
        for offset in pages.cells(number):
            try:
                rowid, row = pages.row(number, offset)
            except _UNREADABLE:
                continue
            yield number, (offset, rowid), row


class _Pages:
    """The pages of a file, newer ones from the log beside it (`-wal`)."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        log = path.with_name(f"{path.name}-wal")
        self._log = log.open("rb") if log.is_file() else None
        head = self._file.read(100)
        ours = head.startswith(_MAGIC)
        size = int.from_bytes(head[16:18], "big") if ours else 0
        self.size = 65536 if size == 1 else size if size >= 512 and size & (size - 1) == 0 else _PAGE
        self._usable = self.size - (head[20] if ours else 0)
        self._bytes = os.fstat(self._file.fileno()).st_size
        self._newer = dict(self._logged())
        self._free = set(self._freed()) if ours else set()

    def __enter__(self) -> "_Pages":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if self._log:
            self._log.close()

    def numbers(self) -> Iterator[int]:
        """All pages in use."""
        last = max(-(-self._bytes // self.size), *self._newer, 0)
        return (number for number in range(1, last + 1) if number not in self._free)

    def page(self, number: int) -> bytes:
        """A page; shorter where the file ends within it."""
        if number < 1:
            raise ValueError("no page")
        if number in self._newer and self._log:
            self._log.seek(self._newer[number])
            return self._log.read(self.size)
        self._file.seek((number - 1) * self.size)
        return self._file.read(self.size)

    def _logged(self) -> Iterator[tuple[int, int]]:
        """Where in the log the newest committed form of each page is."""
        if self._log is None:
            return
        salts, pending, offset = self._log.read(32)[16:24], [], 32
        while len(frame := self._log.read(24)) == 24 and frame[8:16] == salts:
            number, committed = struct.unpack(">II", frame[:8])
            pending.append((number, offset + 24))
            if committed:
                yield from pending
                pending = []
            offset += 24 + self.size
            self._log.seek(offset)

    def _freed(self) -> Iterator[int]:
        """Pages that hold nothing any more but what was removed."""
        trunk, seen = int.from_bytes(self.page(1)[32:36], "big"), set[int]()
        while trunk and trunk not in seen and len(page := self.page(trunk)) == self.size:
            seen.add(trunk)
            count = min(int.from_bytes(page[4:8], "big"), self.size // 4 - 2)
            yield trunk
            yield from struct.unpack(f">{count}I", page[8 : 8 + 4 * count])
            trunk = int.from_bytes(page[:4], "big")

    def cells(self, number: int) -> list[int]:
        """Where the rows of a page begin; none where it holds no rows."""
        page, start = self.page(number), 100 if number == 1 else 0
        if page[start : start + 1] != bytes([_LEAF]):
            return []
        count = int.from_bytes(page[start + 3 : start + 5], "big")
        places = page[start + 8 : start + 8 + 2 * count]
        return [int.from_bytes(places[at : at + 2], "big") for at in range(0, len(places) - 1, 2)]

    def row(self, number: int, offset: int) -> tuple[int, list[Any]]:
        """The number of a row in its table, and its columns.

        Raises:
            IndexError, ValueError, struct.error: it cannot be read.
        """
        page = self.page(number)
        length, offset = _varint(page, offset)
        rowid, offset = _varint(page, offset)
        if length > self._bytes + len(self._newer) * self.size:
            raise ValueError("longer than the file")
        return rowid, _columns(self._payload(page, offset, length))

    def _payload(self, page: bytes, offset: int, length: int) -> bytes:
        """What a cell holds: its beginning in the page, the rest in a chain of further pages."""
        room = self._usable
        least = (room - 12) * 32 // 255 - 23
        kept = least + (length - least) % (room - 4)
        here = length if length <= room - 35 else kept if kept <= room - 35 else least
        payload = bytearray(page[offset : offset + here])
        follows = page[offset + here : offset + here + 4]
        while len(payload) < length:
            further = self.page(int.from_bytes(follows, "big"))
            part = further[4 : min(room, 4 + length - len(payload))]
            if not part:
                raise ValueError("the chain of pages ends early")
            payload += part
            follows = further[:4]
        return bytes(payload)


def _columns(record: bytes) -> list[Any]:
    at, types = 0, []
    end, at = _varint(record, at)
    while at < end:
        kind, at = _varint(record, at)
        types.append(kind)
    values = []
    for kind in types:
        value, at = _value(record, at, kind)
        values.append(value)
    return values


def _value(record: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (0, 8, 9):
        return {0: None, 8: 0, 9: 1}[kind], at
    if kind in (10, 11):
        raise ValueError("no type of a value")
    size = _INTEGERS.get(kind, 8) if kind < 12 else (kind - 12) // 2
    part = record[at : at + size]
    if len(part) < size:
        raise ValueError("cut off")
    if kind == 7:
        return struct.unpack(">d", part)[0], at + size
    if kind < 7:
        return int.from_bytes(part, "big", signed=True), at + size
    return (part.decode() if kind % 2 else part), at + size


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """SQLite's integer of 1 to 9 bytes, and where it ends."""
    value = 0
    for count in range(8):
        byte = content[at + count]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + count + 1
    return value << 8 | content[at + 8], at + 9
