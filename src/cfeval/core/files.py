"""Files and folders that appear whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cfeval.core.errors import OutputError, as_output_error

PIECE = 1 << 18
"""Bytes of a growing file that are kept before they are written."""


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
