"""Sets of questions in tables: a table's rows become questions, and each that cannot is named.

Tables are those of `cfeval.datasets.pairs.rows`: CSV, TSV, JSONL, JSON, Parquet, Arrow, with images in cells or beside.
A reader is a function from a row to its questions (`Item`); ids, draws, images and what is left out are done here.
"""

import hashlib
import json
import re
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from pydantic import ValidationError

from cfeval.core.errors import InputError
from cfeval.core.image_folders import LeftOut
from cfeval.core.images import Image
from cfeval.core.jsonl import first_fault
from cfeval.core.registry import Diagnostic
from cfeval.core.sampling import chosen
from cfeval.core.text_files import CsvFile
from cfeval.cvqa.csv_format import COLUMNS, TYPES
from cfeval.cvqa.interfaces import RawPair, Sizes
from cfeval.cvqa.records import ALPHABET, Question, coco_number, form_of, listed_options, with_options
from cfeval.datasets.pairs.rows import (
    Place,
    Row,
    TablePlugin,
    UnreadableImageError,
    cell,
    image,
    pair_ids,
    rows_of,
    text,
)


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


ReadRow = Callable[[Place, Row], Iterator[Item]]


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

    def __init__(self, options: TablePlugin, read: ReadRow) -> None:
        self.options = options
        self.faults: list[str] = []
        self._missing: list[str] = []
        items: dict[str, tuple[Place, Item]] = {}
        for place, row in rows_of(Path(options.path), options.folders(), options.allow_outside):
            try:
                for item in read(place, row):
                    if item.name in items:
                        raise UnusableError(f"'{item.name:.60}' stands there twice; ids must differ")
                    items[item.name] = place, item
            except (UnusableError, InputError) as fault:
                self.faults.append(f"{place.text}: {str(fault).removeprefix(f'{place.text}: ')}")
        names = pair_ids(items)
        self._items = {names[name]: entry for name, entry in _parted(items).items()}

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
        self._missing, entries, given = [], self.items(), 0
        ids = Path(self.options.ids) if self.options.ids else None
        drawn = ids is not None or items is not None
        for name in chosen(entries, len(entries), seed, ids, self.options.path) if drawn else list(entries):
            if given == items:
                return
            try:
                pair = _pair(name, *entries[name])
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
        questions = [
            question for item in every for question in (item.original, item.counterfactual) if question is not None
        ]
        open_ = sum(form_of(question) == "text" for question in questions)
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

    @abstractmethod
    def read(self, place: Place, row: Row) -> Iterator[Item]:
        """The questions of a row.

        Raises:
            UnusableError: it cannot be used.
            InputError: likewise; the table may lack a column.
        """


def _parted(items: dict[str, tuple[Place, Item]]) -> dict[str, tuple[Place, Item]]:
    kinds = defaultdict(set)
    for _, item in items.values():
        kinds[item.type].add(item.original is None)
    return {
        name: (place, replace(item, type=f"{item.type} (asked alone)"))
        if item.original is None and len(kinds[item.type]) > 1
        else (place, item)
        for name, (place, item) in items.items()
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


class CounterBench(QuestionTablePlugin):
    """CounterBench: drawn scenes of which one property is changed, and one question about both.

    - Data: counterbench_metadata.json, 550 pairs: spatial, causal, compositional, counting, occlusion.
    - Paper: CounterBench: A Controllable Counterfactual Testbed Reveals Systematic Reasoning Failures in
      Vision-Language Models (openreview.net/forum?id=U9LQ19atDB). Not the benchmark of texts of the same name
      (arXiv:2502.11008).
    - License, SHA-256, where: not found; the record of the step keeps the hash of the file that you name.
    - Fields: `original_image`, `intervened_image` (files in a folder `images`), `question`, `answer_original`,
      `answer_intervened`, `should_change`, `category`, `subcategory`, `intervention`.
    - Published (the abstract): accuracy on single images 85 to 91 % for four models; their Counterfactual
      Consistency Score 80 to 90 %, of Qwen2.5-VL-72B 89.5 %.

    Their Counterfactual Consistency Score counts a pair as good where the answer changes if and only if it should.
    It is another thing than the CCS of edct, which asks about explanations, and than accuracy here. The tables have
    accuracy on the original and on the changed image.
    """

    columns: ClassVar = frozenset({"original_image", "intervened_image", "question"})

    def read(self, place: Place, row: Row) -> Iterator[Item]:
        """The question about both images."""
        names = [text(place, row, column) for column in ("original_image", "intervened_image")]
        files = [next((f"images/{n}" for f in place.folders if (f / "images" / n).is_file()), n) for n in names]
        question = text(place, row, "question")
        answers = [text(place, row, column) for column in ("answer_original", "answer_intervened")]
        first, then = (question_of(question, [answer]) for answer in answers)
        name = f"{PurePosixPath(names[0]).stem}-{PurePosixPath(names[1]).stem}"
        yield Item(name, (files[0],), then, first, text(place, row, "category"), files[1])


WHATSUP_FILES = {
    "77ee94ae35552ed643ecd47f700daa178e10051458baae99d5c4c5d5922590d3": "controlled_images_dataset.json",
    "2c0df1ab59d13d71442752b4b3c7353114d712a785b0850ec22e11c2b0c474c9": "controlled_clevr_dataset.json",
}
WHATSUP_RELATIONS = ("left of", "right of", "in front of", "behind", "under", "on")
WHATSUP_QUESTION = "Which of these sentences describes the image?"


class WhatsUp(QuestionTablePlugin):
    """What'sUp: photographs of two objects that differ in their place alone, and four captions of which one is
    right.

    - Data: controlled_images_dataset.json (412 photographs, 103 pairs of objects) and controlled_clevr_dataset.json
      (408, 102 pairs); the parts of COCO and GQA need images of their own, and their files have other fields.
    - Paper: Kamath, Hessel and Chang, What's "up" with vision-language models? Investigating their struggle with
      spatial reasoning (EMNLP 2023, arXiv:2310.19785).
    - License: MIT (the repository's file LICENSE).
    - Where: github.com/amitakamath/whatsup_vlms names the downloads; unpack the images beside the table.
    - Fields: `image_path` (`data/controlled_images/…`, the layout of that repository) and `caption_options`, of
      which the first is always right.
    - SHA-256 of the tables, as a reader of the set has recorded them: see `KNOWN`. `cfeval doctor` compares.
    - Published (the abstract): BLIP, fine-tuned on VQAv2, 56 % over the paper's three sets, people 99 %; these are
      mean accuracies of matching, not of asked questions.

    By rule: the captions are the options, in an order drawn by a hash of the image's path, since an order in which
    the first is right would reward whoever says A. There is no original question; the type is the relation of the
    caption.
    """

    columns: ClassVar = frozenset({"image_path", "caption_options"})

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether the table is a published one, then what every table says."""
        if Path(self.path).is_file():
            name = WHATSUP_FILES.get(hashlib.sha256(Path(self.path).read_bytes()).hexdigest())
            what = f"the published {name}" if name else "its SHA-256 is that of no published table"
            yield Diagnostic(True, f"{self.path}: {what}", warns=not name)
        yield from super().diagnose()

    def read(self, place: Place, row: Row) -> Iterator[Item]:
        """The question about an image."""
        path, captions = text(place, row, "image_path"), row.get("caption_options")
        if not isinstance(captions, list) or not captions:
            raise UnusableError("caption_options must be a list of captions")
        order = sorted(captions, key=lambda caption: hashlib.sha256(f"{path}\x1f{caption}".encode()).digest())
        relation = next((name for name in WHATSUP_RELATIONS if f" {name} " in f" {captions[0].lower()} "), "other")
        question = question_of(WHATSUP_QUESTION, [captions[0]], order)
        yield Item(Path(path).stem, (path.removeprefix("data/"),), question, type=relation)


# The columns that are read, each with its other names.
COLUMN_NAMES = {
    "image": ("image", "images", "file_name", "img_path", "image_path"),
    "changed": ("counterfactual_image",),
    "question": ("question", "query"),
    "answer": ("answer", "answers"),
    "options": ("options", "choices"),
    "counterfactual_question": ("counterfactual_question", "new query"),
    "counterfactual_answer": ("counterfactual_answer", "new answer"),
    "counterfactual_options": ("counterfactual_options",),
    "type": ("type", "category", "task"),
    "id": ("id",),
}
_NUMBERED = re.compile(r"image_?\d+")


class PlainTable(QuestionTablePlugin):
    """One's own questions, in any table: CSV, TSV, JSONL, JSON or Parquet; nothing of C-VQA's groups or format is
    needed.

    A row needs `image`, `question` and `answer`. Without a second question, the one that is there is the
    counterfactual question, and the tables have an accuracy and no drop. Columns, of which those in brackets are
    other names:

    - `image` (`images`, `file_name`, `img_path`, `image_path`), a path in the folder of the table or in `images`;
      several images as a list, with `|` between them, or in the columns `image_1`, `image_2` …: all are shown.
    - `question` (`query`) and `answer`: as the image is. `counterfactual_question` (`new query`) and
      `counterfactual_answer` (`new answer`): under the *if*.
    - `options`, `counterfactual_options`: any number, as a list, with `|` between them, or in columns `A`, `B` …;
      the answer is then a letter or a text. Options may stand in the question too: `(A) red (B) blue`.
    - `type` (`category`, `task`): any name. `id`: what tells the row from others. `counterfactual_image`: shown
      instead of the image with the second question, where the set changes the image.

    Answers are numbers, yes or no, letters, or open: words of one's own, further accepted ones as a list or with
    `|` between them.
    """

    def read(self, place: Place, row: Row) -> Iterator[Item]:
        """The questions of a row; a row with one question has the counterfactual one alone."""
        sides = [_side_question(row, ""), _side_question(row, "counterfactual_")]
        given = [question for question in sides if question is not None]
        if not given:
            raise UnusableError("no question; name the columns image, question and answer")
        images = _images(row)
        if not images:
            raise UnusableError("no image; name the column image")
        kind = _text(row, "type") or "questions"
        if kind == "all" or len(kind) > 40 or "\n" in kind:
            raise UnusableError(f"the type {kind!r:.50} must be a name of one line, at most 40 letters, and not 'all'")
        yield Item(
            name=_text(row, "id") or f"{Path(place.source).stem}-{place.text.rpartition(' ')[2].zfill(5)}",
            images=tuple(images),
            counterfactual=given[-1],
            original=given[0] if len(given) > 1 else None,
            type=kind,
            changed_image=next(iter(_texts_of(_value(row, "changed"))), None),
        )


def is_published(path: Path) -> bool:
    """Whether a file is of C-VQA's published layout, with its groups, so that the plugin `csv` reads it whole."""
    if path.suffix.lower() != ".csv":
        return False
    try:
        rows = [row.cells for row in CsvFile(path, COLUMNS, lambda row: row)]
    except InputError:
        return False
    return all(row["type"] in TYPES and row["query"].strip() and row["new query"].strip() for row in rows)


def _side_question(row: Row, side: str) -> Any:
    text = _text(row, f"{side}question")
    if not text:
        return None
    options = _texts_of(_value(row, f"{side}options")) or _texts_of(_value(row, "options"))
    return question_of(text, _texts_of(_value(row, f"{side}answer")), options or _lettered(row))


def _lettered(row: Row) -> list[str]:
    options = []
    for letter in ALPHABET:
        value = row.get(letter)
        if value is None or not str(value).strip():
            break
        options.append(str(value))
    return options


def _images(row: Row) -> list[Any]:
    value = _value(row, "image")
    if isinstance(value, dict):
        return [value]
    if cells := _texts_of(value):
        return cells
    numbered = sorted((name for name in row if _NUMBERED.fullmatch(name)), key=lambda name: (len(name), name))
    return [content for name in numbered if (content := cell(row, name))]


def _value(row: Row, name: str) -> Any:
    """What stands in a column, under whichever of its names; None where nothing does."""
    values = (cell(row, column) for column in COLUMN_NAMES[name])
    return next((value for value in values if value is not None and value not in ("", [])), None)


def _text(row: Row, name: str) -> str:
    texts = _texts_of(_value(row, name), split=False)
    return texts[0].strip() if texts else ""


def _texts_of(value: Any, split: bool = True) -> list[Any]:
    """The texts of a cell: a list, a JSON list, or parts with bars between them."""
    if value is None:
        return []
    if isinstance(value, dict):
        lettered = all(isinstance(key, str) and len(key) == 1 for key in value)
        return [_written(value[key]) for key in sorted(value)] if lettered else [value]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [item if isinstance(item, dict) else _written(item) for item in value]
    text = _written(value)
    if split and text.lstrip().startswith("["):
        try:
            return [_written(item) for item in json.loads(text)]
        except ValueError:
            return [text]
    return [part.strip() for part in text.split("|") if part.strip()] if split else [text]


def _written(value: Any) -> str:
    """A value as text: a truth as yes or no, a whole number without its point."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
