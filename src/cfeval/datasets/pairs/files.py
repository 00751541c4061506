"""Own pairs: a CSV or JSONL table, or a folder with images named `ID.before.png` and `ID.after.png`.

Columns: `before` and `after` (paths of the two images, relative to the table), `question`, `changed` (what was changed,
as the image `before` shows it), `became` (the same in `after`; empty: it is gone). Optional: `id` (else the row's
number), `reference_before`, `reference_after` (right answers), `kind` (object, attribute, count, relation, background
or other), `biased` (the answer of who does not look), `verified` (who checked it), `mask` (white where it belongs).

In a folder each pair has a text file `ID.json` beside its images, with the other columns as keys.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import get_args

from cfeval.core.errors import InputError, nearest
from cfeval.core.image_folders import LeftOut, list_images
from cfeval.core.text_files import read_json
from cfeval.datasets.pair import ChangeKind, PairSet, RawPair
from cfeval.datasets.pairs.rows import (
    Opener,
    Place,
    Row,
    TablePlugin,
    TableSet,
    add,
    image,
    image_file,
    mask,
    rows_of,
    text,
)

COLUMNS = (
    "id",
    "before",
    "after",
    "question",
    "changed",
    "became",
    "reference_before",
    "reference_after",
    "kind",
    "biased",
    "verified",
    "mask",
)
KINDS = get_args(ChangeKind)


class Plugin(TablePlugin):
    """Where the pairs are; `path` is a .csv or .jsonl file or a folder."""

    def build(self) -> PairSet:
        """The set."""
        if Path(self.path).is_dir():
            rows = list(_folder(Path(self.path), self.allow_outside))
            return TableSet(self, lambda _: _openers(iter(rows)), _unpaired(Path(self.path), rows))
        return TableSet(self, _openers)

    def dependencies(self) -> tuple[str, ...]:
        """What it is told of and, of a table without a folder of images, the images that its rows name."""
        files = super().dependencies()
        return files if self.images or Path(self.path).is_dir() else (*files, *dict.fromkeys(self._images()))

    def _images(self) -> Iterator[str]:
        try:
            for place, row in rows_of(Path(self.path), self.folders(), self.allow_outside):
                cells = (row.get(name) for name in ("before", "after", "mask"))
                yield from (str(image_file(place, cell)) for cell in cells if isinstance(cell, str) and cell)
        except InputError:
            return  # reading the set says what is wrong


def _openers(rows: Iterator[tuple[Place, Row]]) -> dict[str, Opener | None]:
    openers: dict[str, Opener | None] = {}
    for number, (place, row) in enumerate(rows, start=1):
        odd = next((name for name in row if name not in COLUMNS), None)
        if odd is not None:
            raise InputError(f"{place.text}: unknown column {odd!r}; {nearest(str(odd), COLUMNS)}")
        add(openers, place, str(row.get("id") or f"{number:06d}"), partial(_pair, place, row))
    return openers


def _folder(source: Path, allow_outside: bool) -> Iterator[tuple[Place, Row]]:
    files = sorted(source.glob("*.json"))
    if not files:
        raise InputError(f"{source}: no pairs in this folder; each has ID.json, ID.before.png and ID.after.png")
    for file in files:
        row = read_json(file)
        if not isinstance(row, dict):
            raise InputError(f"{file}: an object with the keys {', '.join(COLUMNS[3:])} is needed")
        images = {side: f"{file.stem}.{side}.png" for side in ("before", "after")}
        yield Place(str(file), (source,), allow_outside=allow_outside), {"id": file.stem} | images | row


def _unpaired(source: Path, rows: Sequence[tuple[Place, Row]]) -> list[LeftOut]:
    """What lies in a folder of pairs and belongs to none."""
    named = {str(row.get(name)) for _, row in rows for name in ("before", "after", "mask")}
    named |= {Path(place.text).name for place, _ in rows}
    listed = list_images(source, recursive=True, allow_outside=True)
    others = [LeftOut(str(path.relative_to(source)), "other", "of no pair") for path in listed.images]
    return [entry for entry in (*others, *listed.left_out) if entry.name not in named]


def _pair(place: Place, row: Row, item: str) -> RawPair:
    images = image(place, row, "before"), image(place, row, "after")
    kind = str(row.get("kind") or "")
    if kind not in KINDS:
        raise InputError(f"{place.text}: kind must be one of {', '.join(KINDS[1:])}, but got {kind!r:.40}")
    cells = {name: str(row.get(name) or "").strip() for name in COLUMNS}
    return RawPair(
        id=item,
        images=images,
        question=text(place, row, "question"),
        before=cells["changed"],
        after=cells["became"],
        references=(cells["reference_before"], cells["reference_after"]),
        kind=next(known_kind for known_kind in KINDS if known_kind == kind),
        biased=cells["biased"],
        verified=cells["verified"],
        region=mask(place, row, "mask", images[0].pixels.shape[:2]) if cells["mask"] else None,
    )
