"""Sets of question pairs: C-VQA's CSV format, pairs of images, and synthetic puzzles."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from cfeval.core import plugin, registry
from cfeval.core.errors import CfevalError, InputError
from cfeval.core.ids import ids_of
from cfeval.core.image_folders import LeftOut
from cfeval.core.images import Image, import_image
from cfeval.core.registry import Diagnostic
from cfeval.core.sampling import derive_seed, drawn
from cfeval.cvqa.csv_format import CvqaRow, key_lines, read_questions
from cfeval.cvqa.interfaces import QuestionSet, RawPair, Sizes
from cfeval.cvqa.plugins.question_tables import UnusableError, question_of
from cfeval.cvqa.records import SYNTHETIC, PublishedType, coco_number
from cfeval.cvqa.synthetic.drawing import Icons, icons_of, png_of
from cfeval.cvqa.synthetic.puzzles import make_puzzle
from cfeval.cvqa.synthetic.records import GREATEST_SIZE, LEAST_SIZE, PUZZLE_TYPES, SIZE, PuzzleType
from cfeval.cvqa.synthetic.release import row_of
from cfeval.datasets.pair import PairSet
from cfeval.datasets.pairs.benchmarks import ENDINGS
from cfeval.datasets.sample import OwnImages, left_out_by

_COCO_FILE = re.compile(r"COCO_(?P<split>\w+)_\d{12}\.jpg")
# Bytes of an image's name that an id takes at most.
_LONGEST_STEM = 80


class CsvPlugin(OwnImages):
    """Questions in C-VQA's published CSV format, with their images: C-VQA-Real with COCO's val2014, or any set like
    it.
    """

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
            questions = CsvQuestions(self)
            rows = questions.places()
        except CfevalError as error:
            yield Diagnostic(False, str(error))
            return
        there = sum(questions.image_of(row) is not None for row in rows.values())
        yield Diagnostic(
            not questions.faults, f"{self.questions}: {len(rows)} rows, and {len(questions.faults)} cannot be used"
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


class RowPlace(NamedTuple):
    """What of a row is kept: where it stands, the name of its image, and whether its questions have options."""

    number: int
    line: int
    img_path: str
    options: bool


class CsvQuestions:
    """Reads the file to see which rows there are, and once more to give them; images are opened as they come."""

    def __init__(self, options: CsvPlugin) -> None:
        self.options = options
        self._file = read_questions(Path(options.questions))
        names: dict[str, str] = {}  # each name once
        self._places = {
            id_of(row): RowPlace(
                row.number, row.line, names.setdefault(row.img_path, row.img_path), row.type in SYNTHETIC
            )
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

    def places(self) -> dict[str, RowPlace]:
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

    def image_of(self, row: RowPlace) -> Path | None:
        """The file of a row's image; None where it is missing."""
        folder = Path(self.options.images)
        coco = _COCO_FILE.fullmatch(row.img_path)
        places = (folder, folder / coco["split"]) if coco else (folder,)
        path = next((place / row.img_path for place in places if (place / row.img_path).is_file()), None)
        return path and self.options.checked(path, [folder], f"{self.options.questions}, line {row.line}")

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
    return f"{ids_of({stem: stem}, _LONGEST_STEM, 'image', ends='-._')[stem]}-{row.number:05d}"


_ALL_PAIRS = 10**9


class ImagePairsPlugin(plugin.Plugin):
    """Pairs of images as questions: the same question about the original image and about the changed one.

    Any set of pairs that edct reads can be asked so, and each reader has the set's card: `naturalbench`, `vismin`,
    `coco_counterfactuals`, `hallusionbench`, `visual_counterfact`, `vlms_are_biased`, `files`. What changes is the
    image and not the question, so that a difference says how much harder the changed images are; it is no loss
    under an *if*. A pair without known right answers is left out, and said.

    Published figures, as their sources give them; none is of this very measure, which asks about each image by
    itself:

    - NaturalBench (arXiv:2410.14669, abstract): open models and GPT-4o lag 50 to 70 % behind people, who are above
      90 %.
    - VisMin, COCO-Counterfactuals: no figure of this kind found.
    """

    of: dict[str, Any] = plugin.component("pair_sets")
    """The set of pairs: its plugin and options, such as {plugin: naturalbench, path: data/naturalbench}."""

    def build(self) -> QuestionSet:
        """The set."""
        return ImagePairs(registry.build("pair_sets", self.of))


class ImagePairs:
    """Asks about both images of each pair."""

    def __init__(self, source: PairSet) -> None:
        self.source = source
        self._faults: list[str] = []

    @property
    def skipped(self) -> tuple[str, ...]:
        """One line for each pair that cannot be used."""
        return (*self._faults, *map(str, left_out_by(self.source)))

    @property
    def left_out(self) -> list[LeftOut]:
        """The same, as the record of the set keeps it."""
        return [LeftOut(line, "unusable") for line in self.skipped]

    def pairs(self, items: int | None, seed: int) -> Iterator[RawPair]:
        """At most `items` pairs, in the order in which the set gives them."""
        self._faults = []
        for pair in self.source.pairs(items or _ALL_PAIRS, seed):
            text = pair.question.removesuffix(ENDINGS["multiple_choice"])
            try:
                first, then = (question_of(text, [reference]) for reference in pair.references)
            except UnusableError as fault:
                self._faults.append(f"pair '{pair.id}': {fault}")
                continue
            yield RawPair(
                id=pair.id,
                image=pair.images[0],
                original=first,
                counterfactual=then,
                type=pair.kind or "questions",
                img_path=f"{pair.id}.png",
                changed_image=pair.images[1],
            )

    def sizes(self, items: int | None) -> Sizes:
        """As many as are wanted; of all, those that the table has."""
        if items is not None:
            return Sizes(items)
        in_table = getattr(self.source, "in_table", None)
        return Sizes(in_table() if in_table else sum(1 for _ in self.source.pairs(_ALL_PAIRS, 0)))


class SyntheticPlugin(plugin.Plugin):
    """Synthetic puzzles of known truth, made on the spot (C-VQA-Synthetic; C-VQA, Section 3.3)."""

    items: int = Field(3000, ge=1)
    """How many there are where all of them are wanted: as many as are published."""
    types: tuple[PuzzleType, ...] = Field(PUZZLE_TYPES, min_length=1)
    """The templates; they take turns."""
    size: int = Field(SIZE, ge=LEAST_SIZE, le=GREATEST_SIZE)
    """Width and height of the images, pixels."""
    draw: int = Field(0, ge=0)
    """Another number draws other puzzles of the same kinds, such as those of a fresh set (`fresh_of`)."""
    icons: str | None = plugin.folder(None)
    """A folder of flowers (PNG or JPEG, in folders or not), such as those of Icons-50; else the project's own."""

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether the user's flowers can be used."""
        if self.icons:
            try:
                yield Diagnostic(True, f"{self.icons}: {len(self.flowers().names)} flowers")
            except CfevalError as error:
                yield Diagnostic(False, str(error))

    def build(self) -> QuestionSet:
        """The set.

        Raises:
            InputError: the icons cannot be used.
        """
        return Synthetic(self)

    def flowers(self) -> Icons:
        """What may be drawn; errors like `icons_of`."""
        return icons_of(Path(self.icons) if self.icons else None)


class Synthetic:
    """Draws as many puzzles as are wanted."""

    skipped: tuple[str, ...] = ()

    def __init__(self, options: SyntheticPlugin) -> None:
        self.options = options
        self.icons = options.flowers()

    def sizes(self, items: int | None) -> Sizes:
        """As many as are wanted, all with options."""
        wanted = self.options.items if items is None else items
        return Sizes(wanted, wanted)

    def pairs(self, items: int | None, seed: int) -> Iterator[RawPair]:
        """Puzzles that differ by seed; the first ones stay the same when more are wanted."""
        options = self.options
        drawn = derive_seed(seed, "draw", str(options.draw)) if options.draw else seed
        for number in range(1, self.sizes(items).all + 1):
            kind = options.types[(number - 1) % len(options.types)]
            puzzle = make_puzzle(drawn, number, kind, options.size, self.icons.names)
            row = row_of(puzzle)
            yield RawPair(
                id=Path(row.img_path).stem,
                image=Image(png_of(puzzle, self.icons)),
                original=row.original,
                counterfactual=row.counterfactual,
                type=row.type,
                img_path=row.img_path,
                counts=puzzle.scene.counts(),
            )
