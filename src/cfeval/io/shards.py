"""Shards: a record file with its pictures, cut into several by a hash of the id."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from cfeval.errors import InputError
from cfeval.io.atomic import PIECE, building_folder
from cfeval.io.gallery import ensure_own, gallery, move
from cfeval.io.pictures import Picture
from cfeval.io.records import read_jsonl
from cfeval.records.common import ItemId, Record

R = TypeVar("R", bound=Record)
Filed = tuple[ItemId, Record, Picture, str]
"""An item's id, its record, its picture, and the path of the picture."""
AddTo = Callable[[ItemId, Record, Mapping[str, Picture | bytes]], None]
_WAITING = 32 * PIECE
"""Bytes of all shards together that wait to be written."""


def shard_of(item: str, shards: int) -> int:
    """The shard an item belongs to: a hash of its id, so that adding an item moves no other."""
    return int.from_bytes(hashlib.sha256(item.encode()).digest()[:8], "big") % shards


def shard_files(path: Path, shards: int) -> list[Path]:
    """`X.jsonl` itself, or with more than one shard `X/000.jsonl`, `X/001.jsonl`, …"""
    if shards == 1:
        return [path]
    return [path.with_suffix("") / f"{number:03d}{path.suffix}" for number in range(shards)]


def records_of(folder: Path, names: Iterable[str], kind: type[R], shards: int) -> Iterator[R]:
    """The records of `FOLDER/NAME/…/NAME.jsonl`, cut into so many shards; InputError where a file is missing."""
    place = folder.joinpath(*names)
    for file in shard_files(place.with_name(f"{place.name}.jsonl"), shards):
        yield from read_jsonl(file, kind)


@contextmanager
def sharded_gallery(path: Path, shards: int = 1, archive: bool = False) -> Iterator[AddTo]:
    """Yields the function that adds an item's record and pictures to its shard; all appear when the block ends well.

    Args:
        path: see `shard_files`.
        shards: into how many files.
        archive: put the pictures of each shard into one file, as in `gallery`.

    Raises:
        OutputError: see `gallery`; no shard is begun then.
    """
    files = shard_files(path, shards)
    for file in files:
        ensure_own(file, archive)
    with building_folder(path) as building:
        built = [building / file.name for file in files]
        with ExitStack() as stack:
            piece = min(PIECE, _WAITING // shards)
            add = [stack.enter_context(gallery(file, piece, archive=archive)) for file in built]
            yield lambda item, record, pictures: add[shard_of(item, shards)](record, pictures)
        for here, there in zip(built, files, strict=True):
            move(here, there)


def file_pictured(path: Path, items: Iterable[Filed], shards: int = 1, archive: bool = False) -> None:
    """File every record and its picture; see `sharded_gallery`.

    Raises:
        InputError: two records have the same id, or there is none.
    """
    seen: set[str] = set()
    with sharded_gallery(path, shards, archive) as add:
        for item, record, picture, place in items:
            if item in seen:
                raise InputError(f"two items have the id '{item}'; ids must differ")
            seen.add(item)
            add(item, record, {place: picture})
        if not seen:
            raise InputError(f"{path}: there is no item to file; the data set is empty")
