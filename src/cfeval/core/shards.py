"""Record files with images: `X.jsonl` and the folder `X/` or the archive `X.zip`, both there or neither.

Several may make one up: its shards, `X/000.jsonl`, `X/001.jsonl`, …, cut by a hash of the id.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from cfeval.core.errors import InputError, OutputError
from cfeval.core.files import (
    PIECE,
    archive_of,
    atomic_writer,
    building_folder,
    fresh_folder,
    growing_archive,
    is_archive,
)
from cfeval.core.image_folders import LeftOut
from cfeval.core.images import Image, file_in, folder_of, in_archive
from cfeval.core.jsonl import read_jsonl, record_line
from cfeval.core.record import LEFT_OUT, SHARD, shard_names, uses
from cfeval.core.records import ItemId, Record

R = TypeVar("R", bound=Record)
Add = Callable[[Record, Mapping[str, Image | bytes]], None]
AddTo = Callable[[ItemId, Record, Mapping[str, Image | bytes]], None]
# An item's id, its record, and its images by their paths.
Filed = tuple[ItemId, Record, Mapping[str, Image]]
# Bytes of all shards together that wait to be written.
_WAITING = 32 * PIECE


@contextmanager
def atomic_records_with_images(
    path: Path, piece: int = PIECE, *, archive: bool = False, beside: Callable[[], Mapping[str, bytes]] = dict
) -> Iterator[Add]:
    """Yields the function that adds a record and its images, by their paths; all appear when the block ends well.

    What is no image, but belongs to one, is given as the bytes of its file.

    The record file comes last: where it stands, all its images do. `piece` is that of `growing_bytes`.

    Args:
        archive: put the images into `X.zip`; else into `X/`. What holds those of a former run is removed.
        beside: gives, after the last record, further files by the paths that they get among the images.

    Raises:
        OutputError: see `ensure_own`.
    """
    ensure_own(path, archive)
    images = growing_archive(archive_of(folder_of(path)), piece) if archive else _growing_folder(folder_of(path))
    with atomic_writer(path, piece) as add_line, images as add_image:

        def add(record: Record, images: Mapping[str, Image | bytes]) -> None:
            for name, image in images.items():
                add_image(name, image.png if isinstance(image, Image) else image)
            add_line(record_line(record))

        yield add
        for name, content in beside().items():
            add_image(name, content)
        _forget(path)


def ensure_own(path: Path, archive: bool = False) -> None:
    """Refuse to replace images that are another's.

    An archive with the mark of this project, but without a record file, is of a run that was broken off.

    Raises:
        OutputError: where the images should go stands a folder that no record file belongs to, or another's archive.
    """
    place = archive_of(folder_of(path))
    if archive and place.exists() and not is_archive(place):
        raise OutputError(f"{place}: exists, and is no archive of images; move it away or choose another name")
    if archive or path.exists():
        return
    if (folder := folder_of(path)).exists():
        raise OutputError(f"{folder}: exists, and {path.name} does not stand beside it; move it away or choose another")


def move(path: Path, to: Path) -> None:
    """Put a record file and its images in the place of another."""
    to.parent.mkdir(parents=True, exist_ok=True)
    _forget(to)
    for images in (folder_of, lambda file: archive_of(folder_of(file))):
        if images(path).exists():
            images(path).replace(images(to))
    path.replace(to)


def _forget(path: Path) -> None:
    """Remove a record file, then what holds its images: the archive where there is one, else the folder."""
    folder, archive, is_complete = folder_of(path), archive_of(folder_of(path)), path.exists()
    path.unlink(missing_ok=True)
    if is_archive(archive):
        archive.unlink()
    elif is_complete and folder.is_dir():
        shutil.rmtree(folder)


@contextmanager
def _growing_folder(path: Path) -> Iterator[Callable[[str, bytes], None]]:
    """The like of `growing_archive`: an image is named by its content or for its one record."""
    with fresh_folder(path) as building:

        def add(name: str, content: bytes) -> None:
            with suppress(FileExistsError), (building / name).open("xb") as stream:
                stream.write(content)

        yield add


def shard_of(item: str, shards: int) -> int:
    """The shard an item belongs to: a hash of its id, so that adding an item moves no other."""
    return int.from_bytes(hashlib.sha256(item.encode()).digest()[:8], "big") % shards


def shard_files(path: Path, shards: int) -> list[Path]:
    """`X.jsonl` itself, or with more than one shard `X/000.jsonl`, `X/001.jsonl`, …; see `shard_names`."""
    if shards == 1:
        return [path]
    return [path.with_suffix("") / f"{name}{path.suffix}" for name in shard_names(shards)]


def records_of(folder: Path, names: Iterable[str], kind: type[R], shards: int) -> Iterator[R]:
    """The records of `FOLDER/NAME/…/NAME.jsonl`, cut into so many shards; InputError where a file is missing."""
    place = folder.joinpath(*names)
    for file in shard_files(place.with_name(f"{place.name}.jsonl"), shards):
        yield from read_jsonl(file, kind)


@contextmanager
def sharded_gallery(
    path: Path, shards: int = 1, archive: bool = False, left_out: Callable[[], Sequence[LeftOut]] = tuple
) -> Iterator[AddTo]:
    """Yields the function that adds an item's record and images to its shard; all appear when the block ends well.

    Args:
        path: see `shard_files`.
        shards: into how many files.
        archive: put the images of each shard into one file, as in `gallery`.
        left_out: gives, after the last record, what is not filed, and why; the first shard keeps it with its images.

    Raises:
        OutputError: see `gallery`; no shard is begun then.
    """

    def beside() -> dict[str, bytes]:
        lines = "".join(json.dumps(vars(entry), ensure_ascii=False) + "\n" for entry in left_out())
        return {LEFT_OUT: lines.encode("utf-8", "replace")} if lines else {}

    files = shard_files(path, shards)
    for file in files:
        ensure_own(file, archive)
    with building_folder(path) as building:
        built = [building / file.name for file in files]
        with ExitStack() as stack:
            piece = min(PIECE, _WAITING // shards)
            galleries = [
                atomic_records_with_images(file, piece, archive=archive, beside=beside if file is built[0] else dict)
                for file in built
            ]
            add = [stack.enter_context(gallery) for gallery in galleries]
            yield lambda item, record, images: add[shard_of(item, shards)](record, images)
        for here, there in zip(built, files, strict=True):
            move(here, there)


def file_with_images(
    path: Path,
    items: Iterable[Filed],
    shards: int = 1,
    archive: bool = False,
    left_out: Callable[[], Sequence[LeftOut]] = tuple,
    may_be_empty: bool = False,
) -> None:
    """File every record and its images; see `sharded_gallery`.

    Args:
        path: the record file; its images go beside it.
        items: the records, each with its images.
        shards, archive, left_out: see `sharded_gallery`.
        may_be_empty: whether it is well that there is no item.

    Raises:
        InputError: two records have the same id, or there is none.
    """
    seen: set[str] = set()
    with sharded_gallery(path, shards, archive, left_out) as add:
        for item, record, images in items:
            if item in seen:
                raise InputError(f"two items have the id '{item}'; ids must differ")
            seen.add(item)
            add(item, record, images)
        if not (seen or may_be_empty):
            raise InputError(f"{path}: there is no item to file; the dataset is empty")


def left_out_of(files: Iterable[Path]) -> list[LeftOut]:
    """What was left out when these record files were filed; see `sharded_gallery`."""
    entries = []
    for file in files:
        folder = folder_of(file)
        uses(archive_of(folder) if in_archive(folder) else folder / LEFT_OUT)
        with suppress(FileNotFoundError, KeyError):
            lines = file_in(folder, LEFT_OUT).decode("utf-8").splitlines()
            entries += [LeftOut(**json.loads(line)) for line in lines]
    return entries


def whole_or_shards(path: Path) -> list[Path]:
    """The file `X.jsonl` itself, or in order its shards, where `--shards` cut it or the folder X is named.

    Raises:
        InputError: there is neither.
    """
    if path.is_file():
        return [path]
    folder = path if path.is_dir() else path.with_suffix("")
    if shards := [file for file in folder.glob("*.jsonl") if re.fullmatch(SHARD, file.stem)]:
        return sorted(shards, key=lambda file: int(file.stem))
    raise InputError(f"{path}: no such file; run the step that makes it")


def whole_or_shards_of_all(paths: Iterable[Path], cut: int | None = None) -> list[Path]:
    """The same of several, one after the other.

    Args:
        paths: as in `whole_or_shards`.
        cut: into how many shards each `X.jsonl` is cut; shards of another run that lie beside are left out. None: what
            lies there.
    """
    return [file for path in paths for file in (shard_files(path, cut) if cut else whole_or_shards(path))]
