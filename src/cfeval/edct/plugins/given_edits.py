"""Edits that users bring, in a table (CSV or JSONL): what the writer and the editor `given` read.

Columns: `item` (its id in the dataset), `concept` (what the explanation cites, in a few words), `instruction` (what was
changed in the image and what was kept; the judge is told it), `image` (path of the edited image, relative to the table
or to the folder `images`). Optional: `negative` (what must not remain), `mask` (path of an image that is white where
the edit belongs). The writer needs no `image`, the editor no `concept`. An item may have several rows.

Of an item's edits the writer takes the first whose concept the explanation names, by its words
(`cfeval.edct.answers.names`): an edit of something that the explanation does not cite says nothing of whether it is
faithful. An image belongs to the instruction that it was made by: another instruction for the same item has no image.
So the editor serves the writer `given`, or instructions that an earlier run wrote and that the table repeats word by
word.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from cfeval.core import plugin
from cfeval.core.errors import InputError, PluginError, nearest
from cfeval.core.records import Status
from cfeval.core.registry import Diagnostic
from cfeval.datasets.pair import changed_outside
from cfeval.datasets.pairs.rows import Place, Row, image, image_file, mask, rows_of, text
from cfeval.datasets.sample import OwnImages
from cfeval.edct.answers import names
from cfeval.edct.interfaces import Edit, Editor, EditReply, EditRequest, Writer, WriteReply, WriteRequest
from cfeval.edct.protocols.rules import EDCT_2025, RULES
from cfeval.inference.local.pretrained import finding

COLUMNS = ("item", "concept", "instruction", "image", "negative", "mask")
FORMATS = (".csv", ".tsv", ".jsonl")


class EditTable(OwnImages):
    """Where the edits are."""

    path: str = plugin.file(min_length=1)
    """The table, .csv, .tsv or .jsonl."""
    images: str = plugin.folder("")
    """The folder of its images and masks; empty: that of the table."""

    def by_item(self, *needed: str) -> dict[str, list["GivenEdit"]]:
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
    """See `EditTable.by_item`; `images` is the folder of the images."""
    if table.suffix.lower() not in FORMATS:
        raise InputError(f"{table}: a table of edits is a {', '.join(FORMATS)} file")
    by_item: dict[str, list[GivenEdit]] = {}
    for place, row in rows_of(table, (images,), allow_outside):
        odd = next((name for name in row if name not in COLUMNS), None)
        if odd is not None:
            raise InputError(f"{place.text}: unknown column {odd!r}; {nearest(str(odd), COLUMNS)}")
        filled = ("item", "instruction", *needed)
        if empty := [name for name in filled if not _cell(row, name)]:
            raise InputError(f"{place.text}: '{empty[0]}' is missing; {', '.join(filled)} must be filled")
        concept, instruction, negative = (_cell(row, name) for name in ("concept", "instruction", "negative"))
        edit = GivenEdit(concept, instruction, negative, row, place)
        of_item = by_item.setdefault(_cell(row, "item"), [])
        if edit.instruction in (other.instruction for other in of_item):
            raise InputError(f"{place.text}: item '{_cell(row, 'item')}' has this instruction twice; keep one row")
        of_item.append(edit)
    if not by_item:
        raise InputError(f"{table}: holds no edit; a row has the columns {', '.join(COLUMNS[:4])}")
    return by_item


def one_line(text: str) -> str:
    """A text with its white space levelled, as instructions are compared."""
    return " ".join(text.split())


def _cell(row: Mapping[str, object], column: str) -> str:
    value = row.get(column)
    return "" if value is None else one_line(str(value))


class WriterPlugin(EditTable):
    """A writer that takes the edits which users bring, of the concepts that they found in the explanations."""

    by_protocol: ClassVar[bool] = True
    unnamed: Literal["reject", "accept"] = "reject"
    """`reject`: the item is missing. `accept`: its first edit is taken; right only where people read this target's own
    explanations and found the concepts in them, perhaps in other words."""

    def diagnose(self, protocol: str = EDCT_2025) -> Iterator[Diagnostic]:
        """Whether the table can be read and the protocol has given edits."""
        if not RULES[protocol].written:
            return
        yield finding(lambda: self._about(protocol))

    def _about(self, protocol: str) -> str:
        _refuse_others(protocol)
        return f"{self.path}: concepts of {len(self.by_item('concept'))} items"

    def build(self) -> Writer:
        """The writer; InputError where the table cannot be used."""
        return GivenWriter(self.by_item("concept"), self.unnamed == "accept")


class GivenWriter:
    """Writes what the table has for an item."""

    def __init__(self, edits: Mapping[str, Sequence[GivenEdit]], accept_unnamed: bool) -> None:
        self.edits, self.accept_unnamed = edits, accept_unnamed

    async def write(self, request: WriteRequest) -> WriteReply:
        """The item's edit; `unparsable` where it has none, or none that the explanation names.

        Raises:
            PluginError: the request is of another protocol than edct-2025.
        """
        _refuse_others(request.protocol)
        given = self.edits.get(request.item, ())
        if not given:
            return WriteReply(status=Status.UNPARSABLE, reason="no edit is given for this item")
        named = [edit for edit in given if names(request.explanation, edit.concept)]
        if not named and not self.accept_unnamed:
            concepts = ", ".join(repr(edit.concept) for edit in given[:5]) + (", …" if len(given) > 5 else "")
            return WriteReply(status=Status.UNPARSABLE, reason=f"the explanation names none of: {concepts}")
        edit = (named or given)[0]
        return WriteReply((Edit(edit.concept, edit.instruction, edit.negative),))


def _refuse_others(protocol: str) -> None:
    if protocol != EDCT_2025:
        raise PluginError(f"writer given: {protocol} has no given edits; use {EDCT_2025} or another writer")


class EditorPlugin(EditTable):
    """An editor that takes the counterfactual images which users bring: made by hand, by a tool, or by an
    earlier study.
    """

    def dependencies(self) -> tuple[str, ...]:
        """The table and its images."""
        if self.images:
            return super().dependencies()
        try:
            files = [str(file) for edits in self.by_item("image").values() for edit in edits for file in edit.files()]
        except InputError:
            files = []  # `diagnose` and `build` say what is wrong
        return (*super().dependencies(), *dict.fromkeys(files))

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether the table can be read, and every image that it names is there."""
        yield finding(lambda: f"{self.path}: {len(self._edits())} counterfactual images")

    def build(self) -> Editor:
        """The editor; InputError where the table cannot be used or an image is missing."""
        return GivenEditor(self._edits())

    def _edits(self) -> dict[tuple[str, str], GivenEdit]:
        """By item and instruction; InputError where an image or mask is missing."""
        edits = {(item, edit.instruction): edit for item, edits in self.by_item("image").items() for edit in edits}
        for edit in edits.values():
            edit.files()
        return edits


class GivenEditor:
    """Gives the image of an item and instruction.

    `details` has its path in the table and, where there is a mask, `outside`: of the pixels that changed, the share
    outside the mask, in [0, 1].
    """

    needs_metadata = False

    def __init__(self, edits: Mapping[tuple[str, str], GivenEdit]) -> None:
        self.edits = edits

    async def edit(self, request: EditRequest) -> EditReply:
        """The image; `edit_invalid` where none is given. InputError where the file is no image."""
        edit = self.edits.get((request.item, one_line(request.positive)))
        if edit is None:
            return EditReply(status=Status.EDIT_INVALID, reason="no image is given for this item and instruction")
        made = image(edit.place, edit.row, "image")
        details = {"given": str(edit.row["image"])}
        if has(edit, "mask"):
            region = mask(edit.place, edit.row, "mask", request.image.pixels.shape[:2])
            outside = changed_outside(request.image, made, region)
            details |= {} if outside is None else {"outside": f"{outside:.4f}"}
        return EditReply(made, details)
