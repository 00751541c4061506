"""Edits that users bring, in a table (CSV or JSONL): what the writer and the editor `given` read.

Columns: `item` (its id in the dataset), `concept` (what the explanation cites, in a few words), `instruction` (what was
changed in the image and what was kept; the judge is told it), `image` (path of the edited image, relative to the table
or to the folder `images`). Optional: `negative` (what must not remain), `mask` (path of an image that is white where
the edit belongs). The writer needs no `image`, the editor no `concept`. An item may have several rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cfeval.core import plugin
from cfeval.core.errors import InputError, nearest
from cfeval.datasets.pairs.rows import Place, Row, image_file, rows_of, text
from cfeval.datasets.sample import OwnImages

COLUMNS = ("item", "concept", "instruction", "image", "negative", "mask")
FORMATS = (".csv", ".tsv", ".jsonl")


class EditTable(OwnImages):
    """Where the edits are."""

    path: str = plugin.file(min_length=1)
    """The table, .csv, .tsv or .jsonl."""
    images: str = plugin.folder("")
    """The folder of its images and masks; empty: that of the table."""

    def found(self, *needed: str) -> dict[str, list["GivenEdit"]]:
        """The edits by item, each item's in the order of the table.

        Args:
            needed: the columns that must be filled, beside `item` and `instruction`.

        Raises:
            InputError: one line: the table cannot be read, a cell that is needed is empty, a column is unknown, or an
                item has the same instruction twice.
        """
        images = Path(self.images or Path(self.path).parent)
        return given_edits(Path(self.path), images, needed, self.allow_outside)


@dataclass(frozen=True)
class GivenEdit:
    """A row of the table; `row` and `place` are for its images (`cfeval.datasets.pairs.rows`)."""

    concept: str
    instruction: str
    negative: str
    row: Row
    place: Place

    def files(self) -> list[Path]:
        """Its image and mask, as far as the row names them; InputError where one is missing."""
        return [
            image_file(self.place, text(self.place, self.row, name)) for name in ("image", "mask") if has(self, name)
        ]


def has(edit: GivenEdit, column: str) -> bool:
    """Whether the row has something in a column."""
    return bool(_cell(edit.row, column))


def given_edits(
    table: Path, images: Path, needed: tuple[str, ...], allow_outside: bool = False
) -> dict[str, list[GivenEdit]]:
    """See `EditTable.found`; `images` is the folder of the images."""
    if table.suffix.lower() not in FORMATS:
        raise InputError(f"{table}: a table of edits is a {', '.join(FORMATS)} file")
    found: dict[str, list[GivenEdit]] = {}
    for place, row in rows_of(table, (images,), allow_outside):
        _refuse_unfit(place, row, ("item", "instruction", *needed))
        concept, instruction, negative = (_cell(row, name) for name in ("concept", "instruction", "negative"))
        edit = GivenEdit(concept, instruction, negative, row, place)
        of_item = found.setdefault(_cell(row, "item"), [])
        if edit.instruction in (other.instruction for other in of_item):
            raise InputError(f"{place.text}: item '{_cell(row, 'item')}' has this instruction twice; keep one row")
        of_item.append(edit)
    if not found:
        raise InputError(f"{table}: holds no edit; a row has the columns {', '.join(COLUMNS[:4])}")
    return found


def one_line(words: str) -> str:
    """A text with its white space levelled, as instructions are compared."""
    return " ".join(words.split())


def _cell(row: Mapping[str, object], column: str) -> str:
    value = row.get(column)
    return "" if value is None else one_line(str(value))


def _refuse_unfit(place: Place, row: Row, needed: tuple[str, ...]) -> None:
    odd = next((name for name in row if name not in COLUMNS), None)
    if odd is not None:
        raise InputError(f"{place.text}: unknown column {odd!r}; {nearest(str(odd), COLUMNS)}")
    if empty := [name for name in needed if not _cell(row, name)]:
        raise InputError(f"{place.text}: '{empty[0]}' is missing; {', '.join(needed)} must be filled")
