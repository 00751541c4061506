"""Files and folders that appear whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cfeval.errors import OutputError, as_output_error


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
def fresh_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that replaces `path` when the block ends well and vanishes when it does not."""
    with _writing(path):
        building = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".part"))
        try:
            building.chmod(0o777 & ~_umask())
            yield building
            if path.exists():
                shutil.rmtree(path)
            building.replace(path)
        finally:
            shutil.rmtree(building, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
