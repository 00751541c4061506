"""Files, folders and archives of images that appear whole or not at all.

An archive `X.zip` lies beside `X.jsonl`: the same bytes for the same images in the same order. Nothing in it is
compressed, since images are already, and nothing tells when or by whom it was written. A ZIP file without `MARK` is
somebody else's: it is neither read nor replaced.
"""

import errno
import os
import shutil
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from cfeval.core.errors import OutputError, as_output_error

# Bytes of a growing file that are kept before they are written.
PIECE = 1 << 18


def ensure_writable(path: Path) -> None:
    """Refuse an output that could not be written, before any work is spent on it.

    Raises:
        OutputError: the nearest folder that exists is a file or cannot be written.
    """
    place = next(parent for parent in path.absolute().parents if parent.exists())
    if not place.is_dir():
        raise OutputError(f"cannot write {path}: {place} is a file, and a folder is needed; move it away")
    if not os.access(place, os.W_OK):
        raise OutputError(f"cannot write {path}: the folder {place} is read-only; make it writable or choose another")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        named = OSError(error.errno, error.strerror, str(path))
        raise (as_output_error(named) or error) from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file by renaming a finished temporary one into place.

    Raises:
        OutputError: the disk is full or the place cannot be written; the old file, if any, is untouched.
    """
    write_bytes_by(path, lambda part: part.write_bytes(content))


def write_bytes_by(path: Path, write: Callable[[Path], object]) -> None:
    """Have a file written under another name and rename it into place; see `write_bytes`."""
    with _writing(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".part")
        os.close(handle)
        try:
            write(Path(name))
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def write_text(path: Path, content: str) -> None:
    """Write UTF-8 text with LF line ends; see `write_bytes`."""
    write_bytes(path, content.encode("utf-8"))


@contextmanager
def atomic_writer(path: Path, piece: int = PIECE) -> Iterator[Callable[[str], None]]:
    """Yields the function that adds UTF-8 text to a file; see `growing_bytes`."""
    with growing_bytes(path, piece) as add:
        yield lambda text: add(text.encode())


@contextmanager
def growing_bytes(path: Path, piece: int = PIECE) -> Iterator[Callable[[bytes], None]]:
    """Yields the function that adds bytes to a file; the file appears when the block ends well.

    No more than a piece of so many bytes is in memory, and no file is open in between: there may be many at once.

    Raises:
        OutputError: see `write_bytes`. What goes wrong in the block for another reason is not about this file.
    """
    with _writing(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".part")
        os.close(handle)
    part, waiting, size = Path(name), list[bytes](), 0

    def flush() -> None:
        nonlocal size
        with _writing(path), part.open("ab") as stream:
            stream.writelines(waiting)
        waiting.clear()
        size = 0

    def add(content: bytes) -> None:
        nonlocal size
        waiting.append(content)
        size += len(content)
        if size >= piece:
            flush()

    try:
        yield add
        flush()
        with _writing(path):
            part.chmod(0o666 & ~_umask())
            part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def fresh_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that replaces `path` when the block ends well and vanishes when it does not."""
    with building_folder(path) as building:
        building.chmod(0o777 & ~_umask())
        yield building
        if path.exists():
            shutil.rmtree(path)
        building.replace(path)


@contextmanager
def building_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path` that is gone when the block ends; what is to stay is moved out of it."""
    with _writing(path):
        building = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".part"))
        try:
            yield building
        finally:
            shutil.rmtree(building, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# The comment of the file.
MARK = b"cfeval: the images of the record file beside"
# What the standard library raises over a file that is no ZIP file, or an odd one.
NO_ARCHIVE = (BadZipFile, NotImplementedError, EOFError, RuntimeError, ValueError, struct.error)
# Of the header before each image: bytes, how it begins, where the lengths of its name and extra field stand.
_HEADER, _SIGNATURE, _LENGTHS_AT = 30, b"PK\3\4", 26
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
