"""Record files that one or several shards make up: `X.jsonl`, or the folder `X/` with `000.jsonl`, `001.jsonl`, …"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from cfeval.errors import InputError
from cfeval.io.records import read_jsonl
from cfeval.records.common import Record

R = TypeVar("R", bound=Record)


def files_of(folder: Path, names: Iterable[str]) -> list[Path]:
    """The files of FOLDER/NAME/…/NAME.jsonl, or of such a folder of shards, in order.

    Raises:
        InputError: there are none.
    """
    place = folder.joinpath(*names)
    whole = place.parent / f"{place.name}.jsonl"
    found = [whole] if whole.is_file() else sorted(place.glob("*.jsonl"))
    if not found:
        raise InputError(f"{whole}: no such file; run the step that makes it, or leave its folder out")
    return found


def records_of(folder: Path, names: Iterable[str], kind: type[R]) -> Iterator[R]:
    """The records of these files; see `files_of`."""
    for file in files_of(folder, names):
        yield from read_jsonl(file, kind)
