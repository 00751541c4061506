"""Own images and questions, read where they lie: a CSV or JSONL file, or a folder of images.

Columns: `image` (a path, relative to the file), `question`; optional: `id` (else the row's number), `reference`
(the right answer), `kind`. `cfeval edct import` takes the same and files a copy of the images; here a run reads the
images themselves, and after a change to one of them the samples are made again.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfeval.core import plugin
from cfeval.core.errors import InputError, nearest
from cfeval.core.images import import_image
from cfeval.core.jsonl import read_lines
from cfeval.core.registry import Diagnostic
from cfeval.core.sampling import chosen, listed
from cfeval.datasets.sample import Dataset, RawSample, as_frozen

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_COLUMNS = ("id", "image", "question", "reference", "kind")


@dataclass(frozen=True)
class Row:
    """A sample without its image; `place` is where it stands, for errors."""

    place: str
    image: Path
    id: str
    question: str
    reference: str = ""
    kind: str = ""


class Plugin(plugin.Plugin):
    """Where the images and questions are."""

    path: str
    """A .csv or .jsonl file, or a folder of images."""
    question: str = ""
    """Asked about every image that brings no question of its own; needed for a folder."""
    ids: str | None = None
    """A list of ids, plain or frozen: exactly those, in that order. Without it the seed draws."""

    def dependencies(self) -> tuple[str, ...]:
        """The CSV or JSONL file and the images that it names, or the folder of images; the list of ids."""
        ids = (self.ids,) if self.ids else ()
        if Path(self.path).is_dir():
            return (f"{self.path.rstrip('/')}/", *ids)
        return (self.path, *self._images(), *ids)

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether rows and ids can be read; images are read when they are taken."""
        if all(Path(file).exists() for file in (self.path, self.ids) if file):  # a missing file is told as such
            yield Diagnostic(True, f"items: {len(Files(self).known())}")

    def build(self) -> Dataset:
        """The dataset."""
        return Files(self)

    def _images(self) -> Iterator[str]:
        """The images of all rows; of a file that cannot be read none: it is told as such."""
        with suppress(InputError):
            yield from dict.fromkeys(str(row.image) for row in read_rows(Path(self.path), self.question))


class Files:
    """Reads all rows, then the images of those that are taken."""

    def __init__(self, options: Plugin) -> None:
        self.options = options

    def samples(self, items: int, seed: int) -> Iterator[RawSample]:
        """At most `items` samples: the listed ones, else a draw by seed.

        Raises:
            InputError: one line that names the row and what is wrong with it.
        """
        source, ids = Path(self.options.path), self.options.ids
        rows = self._rows()
        wanted = chosen(rows, items, seed, Path(ids) if ids else None, source)
        yield from as_frozen((sample_of(rows[item]) for item in wanted), ids)

    def known(self) -> list[str]:
        """The ids of all that can be taken; InputError like `samples`."""
        rows, ids = self._rows(), self.options.ids
        return listed(Path(ids), rows, self.options.path) if ids else list(rows)

    def _rows(self) -> dict[str, Row]:
        rows: dict[str, Row] = {}
        for row in read_rows(Path(self.options.path), self.options.question):
            if row.id in rows:
                raise InputError(f"{row.place}: id '{row.id}' stands at {rows[row.id].place} already; ids must differ")
            rows[row.id] = row
        return rows


def read_own(source: Path, question: str = "") -> Iterator[RawSample]:
    """The samples of a CSV or JSONL file or of a folder of images; see `read_rows` and `sample_of`."""
    return map(sample_of, read_rows(source, question))


def sample_of(row: Row) -> RawSample:
    """A row with its image; InputError where that is missing or no image."""
    try:
        image = import_image(row.image)
    except (InputError, ValueError) as error:
        raise InputError(f"{row.place}: {error}") from None
    return RawSample(row.id, image, row.question, reference=row.reference, kind=row.kind)


def read_rows(source: Path, question: str = "") -> Iterator[Row]:
    """The rows of a CSV or JSONL file or of a folder of images.

    Args:
        source: the file or folder.
        question: asked about every image whose row has none; needed for a folder.

    Raises:
        InputError: one line that names the row and what is wrong with it.
    """
    reader = _reader(source)
    for place, row in reader(source):
        given = {column: value for column, value in row.items() if value is not None}
        yield _row(place, given | {"question": given.get("question") or question}, source)


def _reader(source: Path) -> Callable[[Path], Iterator[tuple[str, dict[str, Any]]]]:
    if source.is_dir():
        return _folder
    readers = {".csv": _csv, ".jsonl": _jsonl}
    if not source.exists():
        raise InputError(f"{source}: no such file or folder")
    if source.suffix.lower() not in readers:
        raise InputError(f"{source}: give a .csv or .jsonl file or a folder of images")
    return readers[source.suffix.lower()]


def _folder(source: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    images = sorted(p for p in source.iterdir() if p.suffix.lower() in IMAGE_SUFFIXES)
    if not images:
        raise InputError(f"{source}: no images in this folder ({', '.join(IMAGE_SUFFIXES)})")
    for path in images:
        yield (
            str(path),
            {"id": re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).lstrip("._-") or "image", "image": path.name},
        )


def _csv(source: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with closing(read_lines(source)) as lines:
        rows = csv.DictReader(lines, restkey="surplus cells")
        for number, row in enumerate(rows, start=1):
            yield f"{source}, line {rows.line_num}", {"id": f"{number:06d}"} | {k: v for k, v in row.items() if v}


def _jsonl(source: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(read_lines(source), start=1):
        if not line.strip():
            continue
        place = f"{source}, line {number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{place}: not JSON ({error.msg} at character {error.pos})") from None
        if not isinstance(row, dict):
            raise InputError(f"{place}: an object with the keys {', '.join(_COLUMNS)} is needed")
        yield place, {"id": f"{number:06d}"} | row


def _row(place: str, row: dict[str, Any], source: Path) -> Row:
    _check_columns(place, row)
    if not _ID.fullmatch(row["id"]):
        shown = row["id"] if len(row["id"]) <= 40 else row["id"][:40] + "…"
        raise InputError(
            f"{place}: id {shown!r} cannot be a file name; use 1 to 100 letters, digits, '.', '_', '-', "
            "a letter or digit first"
        )
    if not row["question"].strip():
        raise InputError(
            f"{place}: the question is empty; fill it in, or give one for all (--question, or the option 'question')"
        )
    if not row.get("image"):
        raise InputError(f"{place}: no image named; the column 'image' holds its path")
    base = source if source.is_dir() else source.parent
    return Row(place=place, image=base / row.pop("image"), **row)


def _unknown(column: str) -> str:
    """What to say of a column that there is not."""
    if len(parts := re.split("[;\t]", column)) > 1 and set(parts) & set(_COLUMNS):
        return "cells are separated by ';' or tabs, and commas are needed; export the table as CSV with commas"
    return f"unknown column '{column}'; {nearest(column, _COLUMNS)}"


def _check_columns(place: str, row: dict[str, Any]) -> None:
    for column, value in row.items():
        if column not in _COLUMNS:
            raise InputError(f"{place}: {_unknown(str(column))}")
        if not isinstance(value, str):
            raise InputError(f"{place}: {column} must be text, but got {value!r}")
