"""What readers of sets of questions share: a table's rows become questions, and each that cannot is named.

Tables are those of `cfeval.datasets.pairs.rows`: CSV, TSV, JSONL, JSON, Parquet, Arrow, with images in cells or beside.
A reader is a function from a row to its questions (`Item`); ids, draws, images and what is left out are done here.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from cfeval.core.errors import InputError
from cfeval.core.image_folders import LeftOut
from cfeval.core.images import Image
from cfeval.core.jsonl import first_fault
from cfeval.core.registry import Diagnostic
from cfeval.core.sampling import chosen
from cfeval.cvqa.choices import listed_options, with_options
from cfeval.cvqa.interfaces import RawPair, Sizes
from cfeval.cvqa.records import Question, coco_number, form_of
from cfeval.datasets.pairs.rows import Place, Row, TablePlugin, UnreadableImageError, image, pair_ids, rows_of


class UnusableError(Exception):
    """Why a row cannot be used, in one line."""


@dataclass(frozen=True)
class Item:
    """The questions of a row.

    `name` tells it from the other rows; `images` are cells of the table, paths or encoded images, which are all shown;
    `changed_image` takes the place of the first of them in the counterfactual question.
    """

    name: str
    images: tuple[Any, ...]
    counterfactual: Question
    original: Question | None = None
    type: str = "questions"
    changed_image: Any = None


Read = Callable[[Place, Row], Iterator[Item]]


def question_of(text: str, answers: Sequence[str], options: Sequence[str] = ()) -> Question:
    """A question with its right answer, in the form in which models are asked.

    Args:
        text: the question.
        answers: the right answer, then further ones that are as right; of options, a letter or a value.
        options: what may be chosen; empty: an answer of one's own, or options that stand in the text.

    Raises:
        UnusableError: there is no question or answer, or it is none of the options.
    """
    answers = [" ".join(answer.split()) for answer in answers if answer.strip()]
    if not text.strip() or not answers:
        raise UnusableError("the question is empty" if not text.strip() else "the right answer is empty")
    first = answers[0]
    listed = None if options or len(first.strip("(). ")) > 1 else listed_options(text)
    if listed:
        text, options = listed.stem, listed.values
    try:
        if options:
            text, first = with_options(text, options), _letter(first, options)
        elif first.lower() in ("yes", "no"):
            first = first.lower()
        elif first.isascii() and first.isdigit():
            first = str(int(first))
        return Question(question=text.strip(), answer=first, also=() if options else tuple(answers[1:]))
    except ValidationError as error:
        raise UnusableError(first_fault(error)) from None
    except ValueError as error:
        raise UnusableError(str(error)) from None


def _letter(answer: str, options: Sequence[str]) -> str:
    """The letter of an answer that is an option's value, or a letter itself."""
    values = [" ".join(option.split()).casefold() for option in options]
    if answer.casefold() in values:
        return chr(ord("A") + values.index(answer.casefold()))
    letter = answer.strip("(). ").upper()
    if len(letter) == 1 and 0 <= ord(letter) - ord("A") < len(options):
        return letter
    raise UnusableError(f"the right answer {answer!r:.40} is none of the options; give its letter or its text")


class QuestionTable:
    """Reads the rows once; opens the images of those that are taken. See `cfeval.cvqa.interfaces.QuestionSet`.

    A type of which some rows have an original question and some have none is parted in two.
    """

    def __init__(self, options: TablePlugin, read: Read) -> None:
        self.options = options
        self.faults: list[str] = []
        self._missing: list[str] = []
        found: dict[str, tuple[Place, Item]] = {}
        for place, row in rows_of(Path(options.path), options.folders(), options.allow_outside):
            try:
                for item in read(place, row):
                    if item.name in found:
                        raise UnusableError(f"'{item.name:.60}' stands there twice; ids must differ")
                    found[item.name] = place, item
            except (UnusableError, InputError) as fault:
                self.faults.append(f"{place.text}: {str(fault).removeprefix(f'{place.text}: ')}")
        names = pair_ids(found)
        self._items = {names[name]: entry for name, entry in _parted(found).items()}

    @property
    def skipped(self) -> tuple[str, ...]:
        """One line for each row that cannot be used, then for each without an image that can be read."""
        return (*self.faults, *self._missing)

    @property
    def left_out(self) -> list[LeftOut]:
        """The same, as the record of the set keeps it."""
        return [LeftOut(line, "unusable") for line in self.skipped]

    def items(self) -> dict[str, tuple[Place, Item]]:
        """The rows by id, in the table's order.

        Raises:
            InputError: there are none.
        """
        if not self._items:
            first = f"; the first unusable row: {self.faults[0]}" if self.faults else ""
            raise InputError(f"{self.options.path}: no row that can be used{first}")
        return self._items

    def pairs(self, items: int | None, seed: int) -> Iterator[RawPair]:
        """All rows in the table's order, or at most `items`: those of the list of ids, or a draw by seed.

        Raises:
            InputError: no row can be used, or no image of any; with `strict` or a list of ids, any one image.
        """
        self._missing, known, given = [], self.items(), 0
        ids = Path(self.options.ids) if self.options.ids else None
        drawn = ids is not None or items is not None
        for name in chosen(known, len(known), seed, ids, self.options.path) if drawn else list(known):
            if given == items:
                return
            try:
                pair = _pair(name, *known[name])
            except UnreadableImageError as error:
                if ids or self.options.strict:
                    raise
                self._missing.append(str(error))
                continue
            given += 1
            yield pair
            del pair  # before the next one is opened
        if not given:
            raise InputError(f"{self.options.path}: no image can be read; the first: {self._missing[0]}")

    def sizes(self, items: int | None) -> Sizes:
        """As many as there are rows, whether their images are there or not; of a draw as on average."""
        every = [item for _, item in self.items().values()]
        count = len(every) if items is None else min(items, len(every))
        share = count / len(every)
        options = sum(form_of(item.counterfactual) == "choice" for item in every)
        alone = sum(item.original is None for item in every)
        shown = max(len(item.images) for item in every)
        questions = [asked for item in every for asked in (item.original, item.counterfactual) if asked is not None]
        open_ = sum(form_of(asked) == "text" for asked in questions)
        return Sizes(count, round(options * share), round(alone * share), shown, round(open_ * share))

    def missing_images(self) -> list[str]:
        """A line for each row whose images cannot be read; every one is opened."""
        lines = []
        for name, entry in self.items().items():
            try:
                _pair(name, *entry)
            except UnreadableImageError as error:
                lines.append(str(error))
        return lines


class QuestionTablePlugin(TablePlugin):
    """A reader of a table; those of published sets say below which table, and how its rows are read."""

    columns: ClassVar[frozenset[str]] = frozenset()
    """The columns by which `cfeval init` knows a published table; those of `plain` are many."""

    def diagnose(self) -> Iterator[Diagnostic]:
        """How many rows can be used, and whether their images are there."""
        if not Path(self.path).exists():  # a missing file is told as such
            return
        try:
            table = self.build()
            rows, missing = len(table.items()), table.missing_images()
        except InputError as error:
            yield Diagnostic(False, str(error))
            return
        yield Diagnostic(not table.faults, f"{self.path}: {rows} rows, and {len(table.faults)} cannot be used")
        for line in (*table.faults, *missing)[:5]:
            yield Diagnostic(False, line)
        yield Diagnostic(not missing, f"{self.path}: images for {rows - len(missing)} of {rows} rows")

    def build(self) -> QuestionTable:
        """The set."""
        return QuestionTable(self, self.read)

    def read(self, place: Place, row: Row) -> Iterator[Item]:
        """The questions of a row.

        Raises:
            UnusableError: it cannot be used.
            InputError: likewise; the table may lack a column.
        """
        raise NotImplementedError


def _parted(found: dict[str, tuple[Place, Item]]) -> dict[str, tuple[Place, Item]]:
    kinds = defaultdict(set)
    for _, item in found.values():
        kinds[item.type].add(item.original is None)
    return {
        name: (place, replace(item, type=f"{item.type} (asked alone)"))
        if item.original is None and len(kinds[item.type]) > 1
        else (place, item)
        for name, (place, item) in found.items()
    }


def _pair(name: str, place: Place, item: Item) -> RawPair:
    first, *more = (_opened(place, cell) for cell in item.images)
    path = item.images[0] if isinstance(item.images[0], str) else f"{name}.png"
    return RawPair(
        id=name,
        image=first,
        original=item.original,
        counterfactual=item.counterfactual,
        type=item.type,
        img_path=Path(path).name,
        coco=coco_number(Path(path).name),
        more_images=tuple(more),
        changed_image=None if item.changed_image is None else _opened(place, item.changed_image),
    )


def _opened(place: Place, content: Any) -> Image:
    return image(place, {"image": content}, "image")
