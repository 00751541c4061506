"""A ZIP file of which every byte follows from the names and contents of its files, written and read as a stream.

Nothing is compressed and no time is kept, so that equal files give equal bytes with any version of Python and zlib. The
reader takes no other ZIP file: it makes each header again and compares, so that no byte of the archive is left unread.
Format: PKWARE's APPNOTE 6.3, with its Zip64 records where a size or a count needs them.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cfeval.core.errors import InputError

PIECE = 1 << 20
"""Bytes of a file that are in memory at a time."""
_DAY, _UTF8, _UNIX, _MODE = 0x21, 0x0800, 0x0300, 0o100644 << 16
"""1980-01-01, the first day that the format knows; names are UTF-8; made on Unix; readable for all."""
_BIG, _MANY = 0xFFFFFFFF, 0xFFFF
_LOCAL, _CENTRAL = struct.Struct("<4s5HLLLHH"), struct.Struct("<4s6HLLLHHHHHLL")
_END, _END64, _LOCATOR = struct.Struct("<4sHHHHLLH"), struct.Struct("<4sQHHLLQQQQ"), struct.Struct("<4sLQL")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of the archive: its path in it, its size in bytes, its CRC-32, and where its header begins."""

    name: str
    size: int
    crc: int
    start: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A file to be written: its path in the archive, its content or the file that has it, its size and CRC-32."""

    name: str
    content: bytes | str
    size: int
    crc: int

    def pieces(self) -> Iterator[bytes]:
        """The content, a piece at a time."""
        if isinstance(self.content, bytes):
            yield self.content
        else:
            with open(self.content, "rb") as stream:  # noqa: PTH123 (a path object for each of many files is memory)
                yield from iter(lambda: stream.read(PIECE), b"")


def write(stream: IO[bytes], sources: Iterable[Source]) -> None:
    """Write an archive.

    Raises:
        InputError: a file changed since its size and CRC-32 were taken.
    """
    entries, start = list[Entry](), 0
    for source in sources:
        entry = Entry(source.name, source.size, source.crc, start)
        header = _local(entry)
        stream.write(header)
        size = crc = 0
        for piece in source.pieces():
            stream.write(piece)
            size, crc = size + len(piece), zlib.crc32(piece, crc)
        if (size, crc) != (source.size, source.crc):
            raise InputError(f"{source.name}: changed while the bundle was written; run the command again")
        entries.append(entry)
        start += len(header) + size
    for part in _directory(entries, start):
        stream.write(part)


class Reader:
    """The files of an archive in their order, each of whose bytes must be as `write` makes them.

    Raises:
        InputError: it cannot be read, or is not such an archive; the first file whose place differs is named.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def entries(self) -> Iterator[Iterator[tuple[str, Iterator[bytes]]]]:
        """Yields the files: the name of each and its content in pieces, all of which must be taken before the next."""
        try:
            with self._path.open("rb") as stream:
                yield self._entries(stream, self._path.stat().st_size)
        except FileNotFoundError:
            raise InputError(f"{self._path}: no such file") from None
        except IsADirectoryError:
            raise InputError(f"{self._path}: is a folder, a bundle is a ZIP file") from None

    def _entries(self, stream: IO[bytes], whole: int) -> Iterator[tuple[str, Iterator[bytes]]]:
        entries: list[Entry] = []
        start, last = 0, "its beginning"
        while (entry := self._header(stream, start, whole, last)) is not None:
            yield entry.name, self._content(stream, entry)
            entries.append(entry)
            start, last = stream.tell(), entry.name
        parts = _directory(entries, start)
        for entry, part in zip(entries, parts, strict=False):
            if stream.read(len(part)) != part:
                raise self._changed(f"the directory's line for {entry.name}")
        if stream.read(_END64.size + _LOCATOR.size + _END.size + 1) != next(parts):
            raise self._changed("the end of the archive")

    def _header(self, stream: IO[bytes], start: int, whole: int, last: str) -> Entry | None:
        fixed = stream.read(_LOCAL.size)
        if len(fixed) < _LOCAL.size or fixed[:4] != b"PK\3\4":
            stream.seek(start)
            return None
        *_, crc, small, _, named, extra = _LOCAL.unpack(fixed)
        rest = stream.read(named + extra)
        try:
            size = struct.unpack("<HHQQ", rest[named:])[2] if extra else small
            entry = Entry(rest[:named].decode(), size, crc, start)
        except (struct.error, UnicodeDecodeError):
            raise self._changed(f"the header after {last}") from None
        if _local(entry) != fixed + rest or size > whole:
            raise self._changed(f"the header after {last}")
        return entry

    def _content(self, stream: IO[bytes], entry: Entry) -> Iterator[bytes]:
        left, crc = entry.size, 0
        while left:
            piece = stream.read(min(left, PIECE))
            if not piece:
                raise self._changed(entry.name, "it is cut off")
            left, crc = left - len(piece), zlib.crc32(piece, crc)
            yield piece
        if crc != entry.crc:
            raise self._changed(entry.name)

    def _changed(self, what: str, why: str = "it was changed after the bundle was written") -> InputError:
        return InputError(f"{self._path}: {what}: {why}; take the bundle from where it came from again")


def _local(entry: Entry) -> bytes:
    name = entry.name.encode()
    big = entry.size >= _BIG
    size, extra = (_BIG, struct.pack("<HHQQ", 1, 16, entry.size, entry.size)) if big else (entry.size, b"")
    fixed = _LOCAL.pack(b"PK\3\4", 45 if big else 20, _UTF8, 0, 0, _DAY, entry.crc, size, size, len(name), len(extra))
    return fixed + name + extra


def _directory(entries: Sequence[Entry], start: int) -> Iterator[bytes]:
    """The directory at the end: a part for each file, and the last one for the rest."""
    size = 0
    for entry in entries:
        part = _line(entry)
        size += len(part)
        yield part
    number = len(entries)
    end = _END.pack(b"PK\5\6", 0, 0, min(number, _MANY), min(number, _MANY), min(size, _BIG), min(start, _BIG), 0)
    if number < _MANY and size < _BIG and start < _BIG:
        yield end
        return
    end64 = _END64.pack(b"PK\6\6", 44, _UNIX | 45, 45, 0, 0, number, number, size, start)
    yield end64 + _LOCATOR.pack(b"PK\6\7", 0, start + size, 1) + end


def _line(entry: Entry) -> bytes:
    name = entry.name.encode()
    big, far = entry.size >= _BIG, entry.start >= _BIG
    wide = [entry.size] * 2 * big + [entry.start] * far
    extra = struct.pack(f"<HH{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
    version, size = 45 if wide else 20, _BIG if big else entry.size
    fixed = _CENTRAL.pack(
        b"PK\1\2",
        _UNIX | version,
        version,
        _UTF8,
        0,
        0,
        _DAY,
        entry.crc,
        size,
        size,
        len(name),
        len(extra),
        0,
        0,
        0,
        _MODE,
        _BIG if far else entry.start,
    )
    return fixed + name + extra
