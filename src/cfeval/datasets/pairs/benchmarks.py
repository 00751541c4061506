"""Published sets of given pairs.

Each class is a set, and its docstring the card. Some rows have both images and what was changed, or the right
answers; in others two texts tell the change, captions or explanations of right answers: `changed_words` finds how they
differ.
"""

import difflib
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Literal

from cfeval.core import plugin
from cfeval.core.errors import InputError
from cfeval.core.text_files import csv_rows
from cfeval.datasets.pair import ChangeKind, PairSet, RawPair, differ
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


# Words behind which a new part of a sentence begins: what stands before them has its noun.
_JOINING = frozenset(
    re.findall(
        r"\w+",
        "a above across after against along among an and are around as at be been before behind below beneath beside "
        "besides between beyond by can climbs did does down during eats faces flies for from had has have he her his "
        "holds in inside into is it its jumps leans lies looks near next not of off on onto or out outside over plays "
        "reaches rests rides runs seen sits stands that the their there they this through to toward towards under up "
        "walks was wears were when where which while who will with within without",
    )
)
_THINGS_IN_ING = frozenset(
    re.findall(
        r"\w+",
        "awning building ceiling clothing drawing earring evening icing king lettering morning painting parking "
        "pudding ring railing spring string swing thing wing wedding",
    )
)


def changed_words(first: str, second: str) -> tuple[str, str]:
    """The words in which two captions differ: `Two men` and `Three men`, `cat` and `dog`.

    The word behind them goes with them where it may be the noun of a number or an adjective: where it names something,
    and does not end in -ing as what a thing does. Where one caption has no words of its own there, the word behind or
    before tells where. Where nothing differs but letter case and marks the captions are returned whole.
    """
    before, after = first.split(), second.split()
    plain = [[word.strip(".,;:!?").lower() for word in caption] for caption in (before, after)]
    blocks = difflib.SequenceMatcher(None, plain[0], plain[1], autojunk=False).get_opcodes()
    changed = [block for block in blocks if block[0] != "equal"]
    if not changed:
        return first, second
    start, end = changed[0][1], changed[-1][2]
    begin, stop = changed[0][3], changed[-1][4]
    lacking = start == end or begin == stop
    if end < len(before) and _is_thing(plain[0][end]):
        end, stop = end + 1, stop + 1
    elif lacking and start:
        start, begin = start - 1, begin - 1
    elif lacking and end < len(before):
        end, stop = end + 1, stop + 1
    return " ".join(before[start:end]).strip(" .,;:"), " ".join(after[begin:stop]).strip(" .,;:")


def _is_thing(word: str) -> bool:
    """Whether a word may be the noun of what stands before it."""
    return word not in _JOINING and not (word.endswith("ing") and word not in _THINGS_IN_ING)


def described(caption: str) -> str:
    """The question whether a caption describes an image: right answers are yes and no."""
    return f'Does this sentence describe the image: "{caption.strip()}" Answer yes or no, and nothing else.'


# Where an image lies below a folder, by the name that the table gives it.
_COCO_PLACES = ("images/{name}.jpg", "{name}.jpg", "images/{name}", "{name}")


class CocoCounterfactuals(TablePlugin):
    """COCO-Counterfactuals: generated images of two captions that differ in one noun.

    - Data: some 17,000 pairs, made by a diffusion model with cross-attention control, filtered by CLIP.
    - Paper: Le, Lal and Howard, COCO-Counterfactuals: Automatically Constructed Counterfactual Examples for Image-Text
      Pairs (NeurIPS 2023 Datasets and Benchmarks, arXiv:2309.14356).
    - License: CC BY 4.0.
    - Where: dataset Intel/COCO-Counterfactuals at Hugging Face: `data/examples.jsonl`, and `data/images.zip`, which
      unpacks to a folder `images` (beside the table, or in the folder that the option `images` names, or that folder).
    - Fields: `id`, `image_0`, `image_1` (names of images without `.jpg`), `caption_0`, `caption_1`.
    - Known faults: both images are generated, no photograph is among them; people checked a sample, not every pair, so
      some images do not show what their caption says.

    By rule: the question is whether the first caption describes the image; what was changed are the words that differ.
    A row whose captions are equal is left out.
    """

    def build(self) -> PairSet:
        """The set."""
        return simple(self, _coco_pair, lambda row: str(row.get("id")), ("caption_0", "caption_1"))


def _coco_pair(place: Place, row: Row, item: str) -> RawPair:
    first, second = text(place, row, "caption_0"), text(place, row, "caption_1")
    before, after = changed_words(first, second)
    named = {column: _coco_file(place, text(place, row, column)) for column in ("image_0", "image_1")}
    return RawPair(
        id=item,
        images=(image(place, named, "image_0"), image(place, named, "image_1")),
        question=described(first),
        before=before,
        after=after,
        references=("yes", "no"),
        kind="object",
        verified="CLIP (COCO-Counterfactuals)",
    )


def _coco_file(place: Place, name: str) -> str:
    """The path under which an image is there; the name where none is."""
    paths = [path.replace("{name}", name) for path in _COCO_PLACES]
    return next((path for path in paths if any((folder / path).is_file() for folder in place.folders)), name)


# By the beginning of a category's name.
_VISMIN_KINDS: dict[str, ChangeKind] = {
    "object": "object",
    "attribute": "attribute",
    "counting": "count",
    "count": "count",
    "relation": "relation",
    "spatial": "relation",
}


class VisMin(TablePlugin):
    """VisMin: photographs of COCO and drawn scenes in which an object, attribute, number or place was changed.

    - Data: the benchmark, 2,084 pairs checked by people: 579 objects, 294 attributes, 589 counts, 622 relations.
    - Paper: Awal, Ahmadi, Zhang and Agrawal, VisMin: Visual Minimal-Change Understanding (NeurIPS 2024,
      arXiv:2407.16772).
    - License: CC BY 4.0; images of COCO as COCO has them.
    - Where: dataset mair-lab/vismin-bench at Hugging Face; the folder `data/test` (Arrow).
    - Fields: `image_0`, `text_0`, `image_1`, `text_1` (captions), `id`, `category` (object, attribute, counting,
      relation), and `text_question_0`, `text_question_1`, `image_question_0`, `image_question_1`; an early file has no
      `category`.
    - Known faults: a reader of the dataset reported mixed-up images and captions (its discussion 1); images of counts
      and relations are wholly generated. The questions are matching tasks, and are not used.

    By rule: the question is whether the first caption describes the image, so that right answers are yes and no; what
    was changed are the words in which the captions differ. A row whose captions are equal is left out.
    """

    def build(self) -> PairSet:
        """The set."""
        return simple(self, _vismin_pair, lambda row: str(row.get("id")), ("text_0", "text_1"))


def _vismin_pair(place: Place, row: Row, item: str) -> RawPair:
    first, second = text(place, row, "text_0"), text(place, row, "text_1")
    before, after = changed_words(first, second)
    category = str(row.get("category") or "").lower()
    return RawPair(
        id=item,
        images=(image(place, row, "image_0"), image(place, row, "image_1")),
        question=described(first),
        before=before,
        after=after,
        references=("yes", "no"),
        kind=next((kind for name, kind in _VISMIN_KINDS.items() if category.startswith(name)), ""),
        verified="people (VisMin)",
    )


_ANSWERS = {"0": "no", "1": "yes"}
_NAMED = ("category", "subcategory", "set_id", "question_id")
# What the archive of images unpacks to.
_FOLDER = "hallusion_bench"


class HallusionBench(TablePlugin):
    """HallusionBench: figures, charts, maps and illusions, each edited so that the right answer to a question changes.

    - Data: HallusionBench.json, 1,129 questions; VD (need the image) and VS (may be answered without it).
    - Paper: Guan et al., HallusionBench: An Advanced Diagnostic Suite for Entangled Language Hallucination and Visual
      Illusion in Large Vision-Language Models (CVPR 2024, arXiv:2310.14566).
    - License: BSD 3-Clause.
    - Where: github.com/tianyi-lab/HallusionBench: HallusionBench.json, and hallusion_bench.zip unpacked beside it.
    - Fields: `category`, `subcategory`, `visual_input`, `set_id`, `figure_id`, `sample_note`, `question_id`,
      `question`, `gt_answer_details`, `gt_answer` (1: yes, 0: no), `filename` (./VD/illusion/0_0.png, below
      hallusion_bench; earlier with that folder's name; null where there is no image). All are texts.
    - Known faults: what was changed is not told; it is taken from the two explanations of the right answers. Some
      figures differ in more than one thing. Figures of the subcategory video are frames of a film in one image.

    By rule: the first figure of a set that has an image is the original (0 in VD, 1 in VS, whose figure 0 is none),
    another its change; a question that both have, word by word, is asked about both. Pairs whose right answers are
    equal are kept: there the answer should stay. Pairs whose explanations are equal but for letter case and marks are
    left out, since nothing says what was changed: 44 of the 472 of the file at commit 14a1779, all with equal right
    answers.
    """

    def build(self) -> PairSet:
        """The set."""
        return TableSet(self, _figure_pairs)


def _figure_pairs(rows: Iterator[tuple[Place, Row]]) -> dict[str, Opener | None]:
    figures: dict[tuple[str, ...], list[tuple[Place, Row]]] = {}
    for place, row in rows:
        if text(place, row, "visual_input") != "0" and row.get("filename"):
            key = tuple(text(place, row, name) for name in ("category", "subcategory", "set_id", "question"))
            figures.setdefault(key, []).append((place, row))
    openers: dict[str, Opener | None] = {}
    for same in figures.values():
        (_, first), *others = sorted(same, key=lambda figure: _figure(*figure))
        for place, row in others:
            if _figure(place, row) != _figure(place, first):
                item = "-".join(text(place, row, name) for name in (*_NAMED, "figure_id"))
                is_told = differ(*(text(place, each, "gt_answer_details") for each in (first, row)))
                add(openers, place, item, partial(_hallusion_pair, place, first, row) if is_told else None)
    return openers


def _figure(place: Place, row: Row) -> tuple[int, str]:
    number = text(place, row, "figure_id")
    return len(number), number


def _hallusion_pair(place: Place, first: Row, second: Row, item: str) -> RawPair:
    before, after = changed_words(*(text(place, row, "gt_answer_details") for row in (first, second)))
    files = [{"filename": _hallusion_file(place, text(place, row, "filename"))} for row in (first, second)]
    return RawPair(
        id=item,
        images=(image(place, files[0], "filename"), image(place, files[1], "filename")),
        question=f"{text(place, second, 'question')} Answer yes or no, and nothing else.",
        before=before,
        after=after,
        references=(
            _ANSWERS[text(place, first, "gt_answer", tuple(_ANSWERS))],
            _ANSWERS[text(place, second, "gt_answer", tuple(_ANSWERS))],
        ),
        kind="other",
        verified="the authors (HallusionBench)",
    )


def _hallusion_file(place: Place, name: str) -> str:
    """The image's path with the unpacked folder before it, where it lies there."""
    below = f"{_FOLDER}/{name.removeprefix('./')}"
    return below if any((folder / below).is_file() for folder in place.folders) else name.removeprefix("./")
