"""A record file with its pictures: `X.jsonl` and the folder `X/` or the archive `X.zip`, both there or neither."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from cfeval.errors import OutputError
from cfeval.io.archives import archive_of, growing_archive, is_archive
from cfeval.io.atomic import PIECE, fresh_folder, growing_text
from cfeval.io.pictures import Picture, folder_of
from cfeval.io.records import record_line
from cfeval.records.common import Record

Add = Callable[[Record, Mapping[str, Picture | bytes]], None]


@contextmanager
def gallery(path: Path, piece: int = PIECE, *, archive: bool = False) -> Iterator[Add]:
    """Yields the function that adds a record and its pictures, by their paths; all appear when the block ends well.

    What is no picture, but belongs to one, is given as the bytes of its file.

    The record file comes last: where it stands, all its pictures do. `piece` is that of `growing_bytes`.

    Args:
        archive: put the pictures into `X.zip`; else into `X/`. What holds those of a former run is removed.

    Raises:
        OutputError: see `ensure_own`.
    """
    ensure_own(path, archive)
    pictures = growing_archive(archive_of(folder_of(path)), piece) if archive else _growing_folder(folder_of(path))
    with growing_text(path, piece) as add_line, pictures as add_picture:

        def add(record: Record, pictures: Mapping[str, Picture | bytes]) -> None:
            for name, picture in pictures.items():
                add_picture(name, picture.png if isinstance(picture, Picture) else picture)
            add_line(record_line(record))

        yield add
        _forget(path)


def ensure_own(path: Path, archive: bool = False) -> None:
    """Refuse to replace pictures that are another's.

    An archive with the mark of this project, but without a record file, is of a run that was broken off.

    Raises:
        OutputError: where the pictures should go stands a folder that no record file belongs to, or another's archive.
    """
    place = archive_of(folder_of(path))
    if archive and place.exists() and not is_archive(place):
        raise OutputError(f"{place}: exists, and is no archive of pictures; move it away or choose another name")
    if archive or path.exists():
        return
    if (folder := folder_of(path)).exists():
        raise OutputError(f"{folder}: exists, and {path.name} does not stand beside it; move it away or choose another")


def move(path: Path, to: Path) -> None:
    """Put a record file and its pictures in the place of another."""
    to.parent.mkdir(parents=True, exist_ok=True)
    _forget(to)
    for pictures in (folder_of, lambda file: archive_of(folder_of(file))):
        if pictures(path).exists():
            pictures(path).replace(pictures(to))
    path.replace(to)


def _forget(path: Path) -> None:
    """Remove a record file, then what holds its pictures: the archive where there is one, else the folder."""
    folder, archive, known = folder_of(path), archive_of(folder_of(path)), path.exists()
    path.unlink(missing_ok=True)
    if is_archive(archive):
        archive.unlink()
    elif known and folder.is_dir():
        shutil.rmtree(folder)


@contextmanager
def _growing_folder(path: Path) -> Iterator[Callable[[str, bytes], None]]:
    """The like of `growing_archive`: a picture is named by its content or for its one record."""
    with fresh_folder(path) as building:

        def add(name: str, content: bytes) -> None:
            with suppress(FileExistsError), (building / name).open("xb") as stream:
                stream.write(content)

        yield add
