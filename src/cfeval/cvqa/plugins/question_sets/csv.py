"""Questions in C-VQA's published CSV format, with their images: C-VQA-Real with COCO's val2014, or any set like it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import CfevalError, InputError
from cfeval.core.ids import ids_of
from cfeval.core.image_folders import LeftOut
from cfeval.core.images import import_image
from cfeval.core.registry import Diagnostic
from cfeval.core.sampling import drawn
from cfeval.cvqa.building.keys import key_lines
from cfeval.cvqa.csv_format import CvqaRow, read_questions
from cfeval.cvqa.interfaces import QuestionSet, RawPair, Sizes
from cfeval.cvqa.records import SYNTHETIC, PublishedType, coco_number
from cfeval.datasets.sample import OwnImages

_COCO = re.compile(r"COCO_(?P<split>\w+)_\d{12}\.jpg")
_LONGEST = 80
"""Bytes of an image's name that an id takes at most."""


class Plugin(OwnImages):
    """Where the files are, and which rows are taken."""

    questions: str = plugin.file()
    """The CSV file, as published."""
    images: str = plugin.folder()
    """The folder of the images; those of COCO may lie in a folder such as val2014/ in it."""
    share: float = Field(1.0, gt=0, le=1)
    """The share of the rows that a seeded draw takes, such as the 0.1 on which the paper asks GPT-4V."""
    types: tuple[PublishedType, ...] = ()
    """The types that are taken; all where none is named."""

    def diagnose(self) -> Iterator[Diagnostic]:
        """How many rows can be used, and whether their images are there."""
        if not Path(self.questions).is_file():  # a missing file is told as such
            return
        try:
            found = CsvQuestions(self)
            rows = found.places()
        except CfevalError as error:
            yield Diagnostic(False, str(error))
            return
        there = sum(found.image_of(row) is not None for row in rows.values())
        yield Diagnostic(
            not found.faults, f"{self.questions}: {len(rows)} rows, and {len(found.faults)} cannot be used"
        )
        yield Diagnostic(there == len(rows), f"{self.images}: images for {there} of {len(rows)} rows")
        for line in key_lines(list(read_questions(Path(self.questions))), self.questions):
            yield Diagnostic(True, line)

    def build(self) -> QuestionSet:
        """The set.

        Raises:
            InputError: the file cannot be read or is no such CSV.
        """
        return CsvQuestions(self)


class Place(NamedTuple):
    """What of a row is kept: where it stands, the name of its image, and whether its questions have options."""

    number: int
    line: int
    img_path: str
    options: bool


class CsvQuestions:
    """Reads the file to see which rows there are, and once more to give them; images are opened as they come."""

    def __init__(self, options: Plugin) -> None:
        self.options = options
        self._file = read_questions(Path(options.questions))
        names: dict[str, str] = {}  # each name once
        self._places = {
            id_of(row): Place(row.number, row.line, names.setdefault(row.img_path, row.img_path), row.type in SYNTHETIC)
            for row in self._wanted()
        }
        self.faults = tuple(self._file.faults)
        self._missing: list[str] = []

    @property
    def skipped(self) -> tuple[str, ...]:
        """One line for each malformed row, then for each row without an image that can be read."""
        return (*self.faults, *self._missing)

    @property
    def left_out(self) -> list[LeftOut]:
        """The same, as the record of the set keeps it."""
        return [LeftOut(line, "unusable") for line in self.skipped]

    def _wanted(self) -> Iterator[CvqaRow]:
        wanted = self.options.types
        return (row for row in self._file if not wanted or row.type in wanted)

    def places(self) -> dict[str, Place]:
        """The rows of the wanted types by id, in the file's order.

        Raises:
            InputError: there are none.
        """
        if not self._places:
            wanted = self.options.types
            which = f" of type {' or '.join(wanted)}" if wanted else ""
            first = f"; the first unusable row: {self.faults[0]}" if self.faults else ""
            raise InputError(f"{self.options.questions}: no row{which} that can be used{first}")
        return self._places

    def pairs(self, items: int | None, seed: int) -> Iterator[RawPair]:
        """Rows in the file's order: of fewer than all, those that the seed draws.

        Raises:
            InputError: there is no row that can be used, or no image of any.
        """
        self._missing = []
        taken = self._taken(items, seed)
        given = 0
        for row in self._wanted():
            if row.number not in taken:
                continue
            try:
                image = import_image(taken[row.number])
            except InputError as error:
                self._missing.append(f"{self.options.questions}, line {row.line}: {error}")
                continue
            given += 1
            yield RawPair(
                id=id_of(row),
                image=image,
                original=row.original,
                counterfactual=row.counterfactual,
                type=row.type,
                img_path=row.img_path,
                coco=coco_number(row.img_path),
            )
        if taken and not given:
            raise InputError(f"{self.options.images}: no image can be read; the first: {self._missing[0]}")

    def sizes(self, items: int | None) -> Sizes:
        """As many rows as are drawn, whether their images are there or not; with options as many as on average."""
        drawn_rows = self._share(len(self.places()))
        count = drawn_rows if items is None else min(items, drawn_rows)
        share = sum(row.options for row in self.places().values()) / len(self.places())
        return Sizes(count, round(share * count))

    def image_of(self, row: Place) -> Path | None:
        """The file of a row's image; None where it is missing."""
        folder = Path(self.options.images)
        coco = _COCO.fullmatch(row.img_path)
        places = (folder, folder / coco["split"]) if coco else (folder,)
        found = next((place / row.img_path for place in places if (place / row.img_path).is_file()), None)
        return found and self.options.checked(found, [folder], f"{self.options.questions}, line {row.line}")

    def _taken(self, items: int | None, seed: int) -> dict[int, Path]:
        """The images of at most `items` drawn rows, by the rows' numbers; missing images are noted."""
        rows = self.places()
        order = drawn(rows, seed, self._share(len(rows)))
        taken: dict[int, Path] = {}
        looked_up: dict[str, Path | None] = {}  # several rows share an image
        for item in order:
            if items is not None and len(taken) >= items:
                break
            name = rows[item].img_path
            path = looked_up[name] if name in looked_up else looked_up.setdefault(name, self.image_of(rows[item]))
            if path is None:
                self._missing.append(
                    f"{self.options.questions}, line {rows[item].line}: no image {name} in {self.options.images}"
                )
            else:
                taken[rows[item].number] = path
        if self._missing and not taken:
            raise InputError(
                f"{self.options.images}: none of the {len(order)} images is there, such as "
                f"{rows[order[0]].img_path}; set the option 'images' to the folder that holds them"
            )
        return taken

    def _share(self, rows: int) -> int:
        return max(1, round(self.options.share * rows))


def id_of(row: CvqaRow) -> str:
    """The id of a row: the image's name without its ending, and the row's number in the file."""
    stem = Path(row.img_path).stem
    return f"{ids_of({stem: stem}, _LONGEST, 'image', ends='-._')[stem]}-{row.number:05d}"
