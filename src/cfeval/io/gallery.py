"""A record file with its pictures: `X.jsonl` and the folder `X/`, both there or neither."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from cfeval.errors import OutputError
from cfeval.io.atomic import PIECE, fresh_folder, growing_text
from cfeval.io.pictures import Picture, folder_of
from cfeval.io.records import record_line
from cfeval.records.common import Record

Add = Callable[[Record, Mapping[str, Picture | bytes]], None]


@contextmanager
def gallery(path: Path, piece: int = PIECE) -> Iterator[Add]:
    """Yields the function that adds a record and its pictures, by their paths; all appear when the block ends well.

    What is no picture, but belongs to one, is given as the bytes of its file.

    The record file comes last: where it stands, all its pictures do. `piece` is that of `growing_text`.

    Raises:
        OutputError: see `ensure_own`.
    """
    ensure_own(path)
    with growing_text(path, piece) as add_line, fresh_folder(folder_of(path)) as building:

        def add(record: Record, pictures: Mapping[str, Picture | bytes]) -> None:
            for name, picture in pictures.items():
                _write_once(building / name, picture.png if isinstance(picture, Picture) else picture)
            add_line(record_line(record))

        yield add
        path.unlink(missing_ok=True)


def ensure_own(path: Path) -> None:
    """Refuse to replace pictures that are another's.

    Raises:
        OutputError: a folder that no record file belongs to stands where the pictures should go.
    """
    folder = folder_of(path)
    if folder.exists() and not path.exists():
        raise OutputError(f"{folder}: exists, and {path.name} does not stand beside it; move it away or choose another")


def move(path: Path, to: Path) -> None:
    """Put a record file and its pictures in the place of another."""
    to.parent.mkdir(parents=True, exist_ok=True)
    to.unlink(missing_ok=True)
    if folder_of(to).exists():
        shutil.rmtree(folder_of(to))
    folder_of(path).replace(folder_of(to))
    path.replace(to)


def _write_once(path: Path, content: bytes) -> None:
    """A picture is named by its content or for its one record: what several share is written for the first."""
    with suppress(FileExistsError), path.open("xb") as stream:
        stream.write(content)
