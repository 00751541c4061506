"""Images in one file: `X.zip` beside `X.jsonl`, the same bytes for the same images in the same order.

Nothing is compressed, since images are already, and nothing tells when or by whom the file was written. A ZIP file
without the mark of this module is somebody else's: it is neither read nor replaced.
"""

import errno
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from cfeval.core.files import PIECE, growing_bytes

MARK = b"cfeval: the images of the record file beside"
"""The comment of the file."""
NO_ARCHIVE = (BadZipFile, NotImplementedError, EOFError, RuntimeError, ValueError, struct.error)
"""What the standard library raises over a file that is no ZIP file, or an odd one."""
_HEADER, _SIGNATURE, _LENGTHS_AT = 30, b"PK\3\4", 26
"""Of the header before each image: bytes, how it begins, where the lengths of its name and extra field stand."""
_UNIX, _REGULAR = 3, 0o100644


@contextmanager
def growing_archive(path: Path, piece: int = PIECE) -> Iterator[Callable[[str, bytes], None]]:
    """Yields the function that adds an image by its name; the file appears when the block ends well.

    A name that is there already is left out. No more than an image and a piece of so many bytes is in memory, and no
    file is open in between.

    Raises:
        OutputError: see `growing_bytes`.
    """
    with growing_bytes(path, piece) as write, ZipFile(_Sink(write), "w", ZIP_STORED) as archive:  # type: ignore[call-overload]
        archive.comment = MARK
        written: set[str] = set()

        def add(name: str, content: bytes) -> None:
            if name not in written:
                written.add(name)
                archive.writestr(entry(name, _REGULAR), content)

        yield add


class _Sink:
    """What `zipfile` writes to; it cannot go back, so that nothing that was written is needed again."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write

    def write(self, content: bytes) -> int:
        """Pass it on."""
        self._write(bytes(content))
        return len(content)

    def flush(self) -> None:
        """It is written when a piece is full."""


def entry(name: str, mode: int = 0o644, compression: int = ZIP_STORED) -> ZipInfo:
    """The entry of a file in any ZIP file of cfeval, which tells neither when nor on what system it was written.

    Args:
        name: the file's path in the archive.
        mode: of the file, as `stat` has it.
        compression: of its content, as `zipfile` names it.
    """
    info = ZipInfo(name)  # of 1980-01-01, the first day that the format knows
    info.create_system, info.external_attr, info.compress_type = _UNIX, mode << 16, compression
    return info


class Archive:
    """The images of a file; where each lies in it is read once.

    Raises:
        OSError: it is no archive of images, or a damaged one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with ZipFile(path) as archive:
                if archive.comment != MARK:
                    raise OSError(errno.EINVAL, f"{path.name} is no archive of images")
                entries = archive.infolist()
        except NO_ARCHIVE as error:
            raise OSError(errno.EIO, f"{path.name} is damaged or no archive of images: {error}") from None
        size = path.stat().st_size
        self._places = {entry.filename: (entry.header_offset, entry.file_size, entry.CRC) for entry in entries}
        if any(entry.compress_type != ZIP_STORED or entry.file_size > size for entry in entries):
            raise OSError(errno.EIO, f"{path.name} is damaged: an entry is not as cfeval writes it")

    @property
    def names(self) -> list[str]:
        """What the images are called."""
        return sorted(self._places)

    def read(self, name: str) -> bytes:
        """The bytes of an image; OSError where it is not there or was changed."""
        if name not in self._places:
            raise FileNotFoundError(errno.ENOENT, f"not in {self.path.name}")
        start, size, checksum = self._places[name]
        with self.path.open("rb") as stream:
            stream.seek(start)
            header = stream.read(_HEADER)
            if len(header) == _HEADER and header.startswith(_SIGNATURE):
                stream.seek(sum(struct.unpack_from("<HH", header, _LENGTHS_AT)), 1)
                content = stream.read(size)
                if len(content) == size and zlib.crc32(content) == checksum:
                    return content
        raise OSError(errno.EIO, f"{self.path.name} is damaged")


def archive_of(folder: Path) -> Path:
    """The file that stands for a folder of images: `X.zip` for `X/`."""
    return folder.with_name(f"{folder.name}.zip")


def archive_in_place_of(folder: Path) -> Archive | None:
    """The archive that holds what the folder would; None where there is none, and the folder counts.

    Raises:
        OSError: there is something of that name that is no archive of images, and no folder.
    """
    path = archive_of(folder)
    try:
        stat = path.stat()
        return _opened(path, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        if folder.is_dir():
            return None
        raise


def is_archive(path: Path) -> bool:
    """Whether a file is an archive of images, as far as its directory tells."""
    try:
        return bool(Archive(path))
    except OSError:
        return False


@lru_cache(maxsize=64)
def _opened(path: Path, *state: int) -> Archive:
    """Remembered as long as the file is the same: a process asks for thousands of images of a few archives."""
    del state
    return Archive(path)
