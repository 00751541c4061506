"""What the readers of given pairs share: rows of a published table, and images in its cells.

Tables: CSV, JSONL, JSON (a list of objects), Parquet, and Arrow as `save_to_disk` of the package datasets writes it; a
folder stands for all Parquet or Arrow files below it. An image cell is a path relative to the table, a path in a folder
that is given, or the struct `{bytes, path}` of the package datasets. What a Parquet or Arrow file holds of images is
read when a pair is opened, so that a set need not fit into memory.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image

from cfeval.core import plugin
from cfeval.core.errors import InputError
from cfeval.core.extras import require
from cfeval.core.ids import ids_of
from cfeval.core.image_folders import LeftOut, inside, not_a_file, reasons
from cfeval.core.images import Image, Mask, import_encoded, import_image, import_layers
from cfeval.core.sampling import chosen
from cfeval.core.text_files import csv_rows, parse_json, read_json, text_lines
from cfeval.datasets.pair import PairSet, RawPair, differ
from cfeval.datasets.sample import OwnImages

Row = Mapping[str, Any]
_BINARY = (".parquet", ".arrow")
# Bytes of a pair's id at most, so that the ids of its items are not too long.
LONGEST = 90


@dataclass(frozen=True)
class Place:
    """Where a row stands, for errors, and the folders in which its images are looked for."""

    text: str
    folders: tuple[Path, ...]
    source: str = ""
    """The name of the file that has the row."""
    allow_outside: bool = False
    """Whether images may lie outside these folders."""


class TablePlugin(OwnImages):
    """Where the published table is."""

    path: str
    """The table as published, or the folder of its Parquet or Arrow files."""
    images: str | None = plugin.folder(None)
    """The folder of images, where the table has only their paths."""
    ids: str | None = plugin.file(None)
    """A list of pair ids: exactly those, in that order. Without it the seed draws."""
    strict: bool = False
    """Whether an image that cannot be read ends the study; else its pair is left out, and said."""

    def dependencies(self) -> tuple[str, ...]:
        """The table or its folder, the folder of images, the list of ids."""
        path = f"{self.path.rstrip('/')}/" if Path(self.path).is_dir() else self.path
        return (path, *super().dependencies())

    def folders(self) -> tuple[Path, ...]:
        """Where images are looked for whose cells hold a path."""
        source = Path(self.path)
        beside = source if source.is_dir() else source.parent
        return (Path(self.images), beside) if self.images else (beside,)


class TableSet:
    """Reads the rows once; opens the images of the pairs that are taken.

    `left_out` is what the last call of `pairs` did not use.

    Args:
        options: where the table is.
        pairs: makes the openers of the pairs of the table by what tells each from the others, of which its id is made:
            an opener opens the images of a pair when it is called with the id. None where nothing says what was
            changed: such pairs are left out, and counted on stderr.
        others: files beside the pairs that no pair names.
    """

    def __init__(
        self,
        options: TablePlugin,
        pairs: Callable[[Iterator[tuple[Place, Row]]], dict[str, "Opener | None"]],
        others: Sequence[LeftOut] = (),
    ) -> None:
        self.options = options
        self._pairs, self._others = pairs, others
        self.left_out: list[LeftOut] = []

    def pairs(self, items: int, seed: int) -> Iterator[RawPair]:
        """At most `items` pairs: the listed ones in their order, else a draw by seed among those that can be read.

        Raises:
            InputError: one line: the table cannot be read or lacks a column; no pair can be used; or one cannot that is
                listed or, with `strict`, any.
        """
        source, ids = Path(self.options.path), self.options.ids
        made = self._made()
        names = pair_ids(made)
        openers = {names[name]: opener for name, opener in made.items() if opener is not None}
        if lost := len(made) - len(openers):
            print(f"{source}: left out {lost} of {len(made)} pairs: nothing says what was changed", file=sys.stderr)
        if not openers:
            raise InputError(f"{source}: holds no pair")
        self.left_out, given = list(self._others), 0
        wanted = chosen(openers, items if ids else len(openers), seed, Path(ids) if ids else None, source)
        for item in wanted:
            if given == items:
                return
            try:
                pair = openers[item](item)
            except UnreadableImageError as error:
                if ids or self.options.strict:
                    raise
                self.left_out.append(LeftOut(item, "unreadable", str(error).removeprefix(f"{source}, ")))
                continue
            given += 1
            yield pair
            del pair  # before the next one is opened
        if not given:
            raise InputError(f"{source}: no pair can be used: {reasons(self.left_out)}")

    def in_table(self) -> int:
        """How many pairs the table has, whether their images can be read or not."""
        return sum(opener is not None for opener in self._made().values())

    def _made(self) -> dict[str, "Opener | None"]:
        return self._pairs(rows_of(Path(self.options.path), self.options.folders(), self.options.allow_outside))


class UnreadableImageError(InputError):
    """An image of a row is missing or no image: its pair is left out, unless that is not allowed."""


Opener = Callable[[str], RawPair]


def simple(
    options: TablePlugin,
    make: Callable[[Place, Row, str], RawPair],
    name: Callable[[Row], str],
    captions: tuple[str, str] | None = None,
) -> PairSet:
    """A set in which a row is a pair.

    Args:
        make: the pair of a row; the last argument is its id.
        name: what tells a row from others; it becomes the id.
        captions: the columns whose difference says what was changed; a row in which they are equal is left out.
    """

    def pairs(rows: Iterator[tuple[Place, Row]]) -> dict[str, Opener | None]:
        openers: dict[str, Opener | None] = {}
        for place, row in rows:
            is_told = captions is None or differ(*(text(place, row, column) for column in captions))
            add(openers, place, name(row), partial(make, place, row) if is_told else None)
        return openers

    return TableSet(options, pairs)


def add(openers: dict[str, Opener | None], place: Place, name: str, opener: Opener | None) -> None:
    """Add a pair by its name; InputError where that is there already."""
    if name in openers:
        raise InputError(f"{place.text}: pair '{name}' stands there twice; take the file as it was published")
    openers[name] = opener


def pair_ids(names: Iterable[str]) -> dict[str, str]:
    """The id of each pair by what its set calls it."""
    return ids_of({name: name for name in names}, LONGEST, "pair", marks="_-", ends="-_", hashed=LONGEST - 9)


def rows_of(source: Path, folders: tuple[Path, ...], allow_outside: bool = False) -> Iterator[tuple[Place, Row]]:
    """The rows of a table, each with its place; see `Place` for the arguments.

    Raises:
        InputError: one line: there is no such table, or it cannot be read.
    """
    if source.is_dir():
        files = sorted(path for path in source.rglob("*") if path.suffix in _BINARY)
        if not files:
            raise InputError(f"{source}: no .parquet or .arrow file in this folder; name the table, or its folder")
        for file in files:
            yield from rows_of(file, folders, allow_outside)
        return
    readers = {".csv": _csv, ".tsv": _csv, ".jsonl": _jsonl, ".json": _json, ".parquet": _binary, ".arrow": _binary}
    if not source.is_file():
        raise InputError(f"{source}: no such file or folder")
    if source.suffix.lower() not in readers:
        raise InputError(f"{source}: give a table ({', '.join(readers)}) or a folder of Parquet or Arrow files")
    for number, row in enumerate(readers[source.suffix.lower()](source), start=1):
        if not isinstance(row, dict):
            raise InputError(f"{source}, row {number}: an object is needed, but got {row!r:.40}")
        yield Place(f"{source}, row {number}", folders, source.name, allow_outside), row


def _csv(source: Path) -> Iterator[Row]:
    yield from (row.cells for row in csv_rows(source))


def _jsonl(source: Path) -> Iterator[Row]:
    for number, line in enumerate(text_lines(source), start=1):
        if line.strip():
            yield parse_json(line, f"{source}, line {number}")


def _json(source: Path) -> Iterator[Row]:
    content = read_json(source)
    if not isinstance(content, list):
        raise InputError(f"{source}: a list of objects is needed; give the file as it was published")
    yield from content


@dataclass(frozen=True)
class Held:
    """A cell that stays in its file until it is read."""

    read: Callable[[], Any]


def _binary(source: Path) -> Iterator[Row]:
    require("pyarrow")
    import pyarrow as arrow

    try:
        yield from (_parquet if source.suffix.lower() == ".parquet" else _arrow)(source)
    except (arrow.ArrowInvalid, OSError) as error:
        raise InputError(f"{source}: not a table of this kind ({str(error).splitlines()[0]:.80})") from None


def _parquet(source: Path) -> Iterator[Row]:
    """The rows; of images one row group is in memory at a time, and again when a pair of another is opened."""
    from pyarrow import parquet

    file = parquet.ParquetFile(source)
    held = _image_columns(file.schema_arrow)
    light = [name for name in file.schema_arrow.names if name not in held]

    @lru_cache(maxsize=max(1, len(held)))
    def column(group: int, name: str) -> Any:
        return file.read_row_group(group, columns=[name]).column(0)

    def value(group: int, name: str, number: int) -> Any:
        return column(group, name)[number].as_py()

    for group in range(file.num_row_groups):
        rows = file.read_row_group(group, columns=light).to_pylist() if light else []
        for number in range(file.metadata.row_group(group).num_rows):
            cells = {name: Held(partial(value, group, name, number)) for name in held}
            yield (rows[number] if rows else {}) | cells


def _arrow(source: Path) -> Iterator[Row]:
    import pyarrow as arrow

    with arrow.memory_map(str(source)) as stream, arrow.ipc.open_stream(stream) as table:
        held = _image_columns(table.schema)
        for batch in table:
            columns = {name: batch.column(name) for name in held}
            light = batch.drop_columns(held).to_pylist() if len(held) < batch.num_columns else [{}] * batch.num_rows
            for number, row in enumerate(light):
                yield row | {
                    name: Held(partial(lambda values, at: values[at].as_py(), columns[name], number)) for name in held
                }


def _image_columns(schema: Any) -> list[str]:
    """Columns that may hold a file: bytes, or the struct `{bytes, path}`."""
    import pyarrow as arrow

    def holds(kind: Any) -> bool:
        if arrow.types.is_struct(kind):
            return any(kind.field(number).name == "bytes" for number in range(kind.num_fields))
        return bool(arrow.types.is_binary(kind) or arrow.types.is_large_binary(kind))

    return [field.name for field in schema if holds(field.type)]


def cell(row: Row, column: str) -> Any:
    """What a cell holds, read from its file where it still is there; None where there is none."""
    value = row.get(column)
    return value.read() if isinstance(value, Held) else value


def text(place: Place, row: Row, column: str, allowed: Collection[str] = ()) -> str:
    """A cell's text.

    Raises:
        InputError: there is no such column, or the cell is empty or not one of `allowed`.
    """
    if column not in row:
        raise InputError(f"{place.text}: no column '{column}'; take the table as it was published")
    value = str(row[column] if row[column] is not None else "").strip()
    if not value or (allowed and value not in allowed):
        wanted = f"one of {', '.join(allowed)}" if allowed else "a text"
        raise InputError(f"{place.text}: {column} must be {wanted}, but got {value!r:.40}")
    return value


def image(place: Place, row: Row, column: str) -> Image:
    """The image of a cell.

    Raises:
        UnreadableImageError: it is missing or no image.
        InputError: the cell names none.
    """
    value = cell(row, column)
    if isinstance(value, Mapping) and value.get("bytes"):
        with _as_unreadable(place):
            return import_encoded(value["bytes"], f"{place.text}, {column}")
    if isinstance(value, Mapping):
        value = value.get("path")
    if not isinstance(value, str) or not value:
        raise InputError(f"{place.text}: {column} holds no image and no path of one")
    path = image_file(place, value)
    with _as_unreadable(place):
        return import_image(path)


@contextmanager
def _as_unreadable(place: Place) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise UnreadableImageError(f"{place.text}: {str(error).removeprefix(f'{place.text}, ')}") from None


def image_file(place: Place, name: str) -> Path:
    """An image file by the path that a table gives it, in the first of the place's folders that has it.

    Raises:
        UnreadableImageError: none has it.
        InputError: the path leads out of them and may not.
    """
    for folder in place.folders:
        if not place.allow_outside:
            inside(folder / name, place.folders, place.text)
        if not not_a_file(folder / name):
            return folder / name
    raise UnreadableImageError(
        f"{place.text}: no image {name!r:.60} in {' or '.join(map(str, place.folders))}; set 'images'"
    )


def mask(place: Place, row: Row, column: str, size: tuple[int, int]) -> Mask:
    """The white or transparent region of a mask image, (H, W), brought to a size; InputError where it is no image."""
    value = cell(row, column)
    held = value.get("bytes") if isinstance(value, Mapping) else None
    layers = import_layers(held or image_file(place, text(place, row, column)), f"{place.text}, {column}")
    pixels = np.asarray(PIL.Image.fromarray(layers).resize((size[1], size[0]), PIL.Image.Resampling.NEAREST))
    region: Mask = (pixels[..., 3] < 128) | (pixels[..., :3].min(axis=-1) > 250)
    return region
