"""Published sets of given pairs whose rows have both images and what was changed, or the right answers.

Each class is a set, and its docstring the card.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Literal

from cfeval.core import plugin
from cfeval.core.errors import InputError
from cfeval.core.text_files import csv_rows
from cfeval.datasets.pair import PairSet, RawPair, differ
from cfeval.datasets.pairs.rows import Opener, Place, Row, TablePlugin, TableSet, add, cell, image, mask, simple, text


class MagicBrush(TablePlugin):
    """MagicBrush and sets like it: a photograph, an instruction, the edited photograph, and the mask of the edit.

    - Data: 10,000 edits of COCO's photographs by people with an editor and a mask: train 8,807 rows, dev 528.
    - Paper: Zhang, Mo, Chen, Sun and Su, MagicBrush: A Manually Annotated Dataset for Instruction-Guided Image Editing
      (NeurIPS 2023 Datasets and Benchmarks, arXiv:2306.10012).
    - License: CC BY 4.0; photographs as COCO has them.
    - Where: dataset osunlp/MagicBrush at Hugging Face: the Parquet files of `dev` or `train`.
    - Fields: `img_id`, `turn_index`, `source_img`, `mask_img` (white where the edit is), `instruction`, `target_img`.
    - Known faults: edits of turn 2 and later start from an edited image; an edit may leave its mask, which the column
      `outside` of the table tells. It has no questions, and no right answers.

    By rule: one question is asked about all images (option `question`), or each has its own in a file that is given
    (`questions`: CSV with the columns `img_id`, `turn_index`, `question`). What was changed is the instruction.
    """

    question: str = ""
    """Asked about every image that has no question of its own."""
    questions: str | None = plugin.file(None)
    """A CSV file with questions: `img_id`, `turn_index`, `question`."""

    def build(self) -> PairSet:
        """The set."""
        own = _questions(Path(self.questions)) if self.questions else {}
        return simple(self, partial(_edit, own=own, question=self.question), _edit_name)


def _edit_name(row: Row) -> str:
    return f"{row.get('img_id')}-{row.get('turn_index')}"


def _questions(source: Path) -> dict[str, str]:
    questions: dict[str, str] = {}
    for row in csv_rows(source, ("img_id", "turn_index", "question")):
        name = _edit_name(row.cells)
        if name in questions:
            raise InputError(f"{source}, line {row.line}: a second question about image {name}; keep one")
        questions[name] = row.cells["question"]
    return questions


def _edit(place: Place, row: Row, item: str, own: dict[str, str], question: str) -> RawPair:
    wanted_question = own.get(_edit_name(row)) or question
    if not wanted_question.strip():
        raise InputError(
            f"{place.text}: no question about image {_edit_name(row)}; set the option 'question' or 'questions'"
        )
    images = image(place, row, "source_img"), image(place, row, "target_img")
    return RawPair(
        id=item,
        images=images,
        question=wanted_question,
        before="",
        after=text(place, row, "instruction"),
        kind="other",
        verified="people (MagicBrush)",
        region=mask(place, row, "mask_img", images[0].pixels.shape[:2]) if cell(row, "mask_img") else None,
    )


# What is put behind a question, by its type.
ENDINGS = {
    "yes_no": "Answer yes or no, and nothing else.",
    "multiple_choice": "Answer with the letter of the right option, and nothing else.",
}


class NaturalBench(TablePlugin):
    """NaturalBench: two photographs and a question that has different right answers about them. For consistency only.

    - Data: 1,900 rows of two images and two questions: 3,800 pairs.
    - Paper: Li, Lin et al., NaturalBench: Evaluating Vision-Language Models on Natural Adversarial Samples (NeurIPS
      2024, arXiv:2410.14669).
    - License: Apache 2.0; photographs of Flickr30K and DOCCI under their own terms.
    - Where: dataset BaiqiL/NaturalBench at Hugging Face: `data/train-*.parquet`.
    - Fields: `Index`, `Image_0`, `Image_1`, `Question_0`, `Image_0_Question_0`, `Image_1_Question_0`, `Question_1`,
      `Image_0_Question_1`, `Image_1_Question_1`, `Question_Type` (yes_no or multiple_choice), `Source`.
    - Known faults: the photographs differ in everything, so that nothing follows about what moved an answer; the table
      then tells of answers alone. An early version of the file calls one column `Question Type`.
    """

    def build(self) -> PairSet:
        """The set."""
        return TableSet(self, _questions_of_rows)


def _questions_of_rows(rows: Iterator[tuple[Place, Row]]) -> dict[str, Opener | None]:
    openers: dict[str, Opener | None] = {}
    for place, row in rows:
        for number in (0, 1):
            item = f"{text(place, row, 'Index')}-q{number}"
            add(openers, place, item, partial(_natural_pair, place, row, number=number))
    return openers


def _natural_pair(place: Place, row: Row, item: str, number: int) -> RawPair:
    ending = ENDINGS[text(place, row, "Question_Type" if "Question_Type" in row else "Question Type", tuple(ENDINGS))]
    answers = [text(place, row, f"Image_{side}_Question_{number}").lower() for side in (0, 1)]
    return RawPair(
        id=item,
        images=(image(place, row, "Image_0"), image(place, row, "Image_1")),
        question=f"{text(place, row, f'Question_{number}')} {ending}",
        before="the first photograph",
        after="the second photograph",
        references=(answers[0], answers[1]),
        natural=True,
        verified="people (NaturalBench)",
    )


_PRIOR_QUESTIONS = {
    "color": "What color is the {object} in this image? Answer with one word.",
    "size": "Which is larger in this image, {object}? Answer with the name alone.",
}


class VisualCounterfact(TablePlugin):
    """Visual CounterFact: objects in a color that they never have, and pairs of objects whose sizes are turned round.

    - Data: 493 pairs of colors (split `color`) and 727 of sizes (split `size`): a usual image and its counterfactual.
    - Paper: Golovanevsky et al., Pixels Versus Priors: Controlling Knowledge Priors in Vision-Language Models through
      Visual Counterfacts (2025, arXiv:2505.17127).
    - License: none is named on the card; ask the authors before passing images on.
    - Where: dataset mgolov/Visual-Counterfact at Hugging Face: `data/color-*.parquet` and `data/size-*.parquet`.
    - Fields: `correct_answer` (in the usual image), `incorrect_answer` (in the counterfactual one), `object`,
      `original_image`, `counterfact_image`. Of colors, `correct_answer` is a list, written as text (`['red',
      'green']`). Of sizes, both answers are objects, and `object` is not read.
    - Known faults: the images are generated or edited by models. A few counterfactual colors are among the usual ones
      (radish, spider): those pairs are left out.

    By rule: the question is the color of the object, or which of the two answers is larger, in the order of the
    alphabet, by `split`; the biased answer is that to the usual image. Where an object has several usual colors,
    neither is told.
    """

    split: Literal["color", "size"]
    """Which split the file holds."""

    def build(self) -> PairSet:
        """The set."""
        return TableSet(self, partial(_counterfacts, color=self.split == "color"))


def _counterfacts(rows: Iterator[tuple[Place, Row]], *, color: bool) -> dict[str, Opener | None]:
    openers: dict[str, Opener | None] = {}
    for place, row in rows:
        cell = text(place, row, "correct_answer")
        quoted = re.findall(r"'([^']*)'|\"([^\"]*)\"", cell) if cell.startswith("[") else []
        usual, other = [single or double for single, double in quoted] or [cell], text(place, row, "incorrect_answer")
        if other.lower() not in [answer.lower() for answer in usual]:
            named = (row.get(column) for column in ("object", "correct_answer", "incorrect_answer"))
            opener = partial(_counterfact, place, row, usual=usual, other=other, color=color)
            add(openers, place, "-".join(map(str, named)), opener)
    return openers


def _counterfact(place: Place, row: Row, item: str, *, usual: list[str], other: str, color: bool) -> RawPair:
    named = text(place, row, "object") if color else " or ".join(sorted([*usual, other], key=str.lower))
    right = usual[0] if len(usual) == 1 else ""
    sentence = "{value} {object}" if color else "the {value} is larger"
    return RawPair(
        id=item,
        images=(image(place, row, "original_image"), image(place, row, "counterfact_image")),
        question=_PRIOR_QUESTIONS["color" if color else "size"].replace("{object}", named),
        before=sentence.replace("{value}", " or ".join(usual)).replace("{object}", named),
        after=sentence.replace("{value}", other).replace("{object}", named),
        references=(right, other),
        kind="attribute",
        biased=right,
        verified="the authors (Visual CounterFact)",
    )


_Key = tuple[str, ...]
_SPLIT = re.compile(r"(?<![a-z])(original|main)(?![a-z])")
_WORD = re.compile(r"[^\W_]+")
# Words of an image's name that do not tell what it shows.
_NO_NAMES = re.compile(r"0|(?:px)?(?:384|768|1152)|notitle|original")


class VlmsAreBiased(TablePlugin):
    """VLMs are Biased (VLMBias): well-known things with one part too many or too few, such as a shoe with four stripes.

    - Data: splits `original` (462 rows) and `main` (2,784), among others: animals, logos, flags, chess pieces, game
      boards, optical illusions and patterned grids, each in several sizes.
    - Paper: Vo, Nguyen, Taesiri, Dang, Nguyen and Kim, Vision Language Models are Biased (2025, arXiv:2505.23941).
    - License: MIT.
    - Where: dataset anvo25/vlms-are-biased at Hugging Face: the Parquet files of `original` and `main`, in one folder.
    - Fields: `image`, `ID`, `image_path`, `topic`, `sub_topic`, `prompt`, `ground_truth`, `expected_bias`,
      `with_title`, `type_of_question` (Q1 to Q3), `pixel` (384, 768, 1152), `metadata` (JSON as text). The authors'
      generators write no `sub_topic`; it is not needed.
    - Known faults: no column links a changed image to its original; only the names of images do, and most topics have
      none. A prompt asks for an answer in curly brackets.

    By rule: a row of `main` is paired with the row of `original` of the same topic and prompt whose image has the name
    with which that of the changed image begins, word by word (elephant.png, elephant_4_5_384.png), in the nearest size;
    rows without one are left out, and those with the right answer of their original, since nothing says what was
    changed. Files that name no split are told apart by whether the right answer is the biased one. The changed thing is
    the sub-topic, or the topic, with the number of its parts.
    """

    def build(self) -> PairSet:
        """The set."""
        return TableSet(self, _changed_things)


def _changed_things(rows: Iterator[tuple[Place, Row]]) -> dict[str, Opener | None]:
    usual: dict[_Key, list[Row]] = {}
    changed: list[tuple[Place, Row]] = []
    for place, row in rows:
        if _is_original(place, row):
            usual.setdefault(_key(place, row), []).append(row)
        else:
            changed.append((place, row))
    openers: dict[str, Opener | None] = {}
    for place, row in changed:
        if originals := _alike(row, usual.get(_key(place, row), [])):
            first = min(originals, key=lambda original: abs(_size(original) - _size(row)))
            is_told = differ(*(text(place, original, "ground_truth") for original in (first, row)))
            add(openers, place, text(place, row, "ID"), partial(_changed_thing, place, first, row) if is_told else None)
    if changed and not openers:
        raise InputError(
            f"{changed[0][0].text}: no row has an original; put the files of `original` and `main` together"
        )
    return openers


def _is_original(place: Place, row: Row) -> bool:
    """Which split a row is of: by the name of its file, else by whether its right answer is the biased one."""
    if split := _SPLIT.search(place.source):
        return split[1] == "original"
    return text(place, row, "ground_truth") == text(place, row, "expected_bias")


def _key(place: Place, row: Row) -> _Key:
    return tuple(text(place, row, column) for column in ("topic", "prompt"))


def _alike(row: Row, originals: list[Row]) -> list[Row]:
    """Those of the originals whose image's name begins that of a changed image, with as many words as any."""
    name = _name_words(row)
    starts = [
        (len(start), original)
        for original in originals
        if (start := _name_words(original)) and name[: len(start)] == start
    ]
    longest = max((count for count, _ in starts), default=0)
    return [original for count, original in starts if count == longest]


def _name_words(row: Row) -> list[str]:
    """The words of an image's name that tell what it shows."""
    parts = _WORD.findall(Path(str(row.get("image_path") or "")).stem.lower())
    while parts and _NO_NAMES.fullmatch(parts[-1]):
        parts.pop()
    return parts


def _size(row: Row) -> int:
    return int(row.get("pixel") or 0)


def _changed_thing(place: Place, first: Row, second: Row, item: str) -> RawPair:
    named = str(second.get("sub_topic") or "").strip() or text(place, second, "topic")
    right, other = text(place, first, "ground_truth"), text(place, second, "ground_truth")
    return RawPair(
        id=item,
        images=(image(place, first, "image"), image(place, second, "image")),
        question=text(place, second, "prompt"),
        before=f"{named}: {right}",
        after=f"{named}: {other}",
        references=(right, other),
        kind="count",
        biased=text(place, second, "expected_bias"),
        verified="the authors (VLMs are Biased)",
    )
