"""Sets of given pairs whose change is told by two texts: captions, or explanations of right answers.

Each class is a set, and its docstring the card. `changed_words` finds how two texts differ.
"""

import difflib
import re
from collections.abc import Iterator
from functools import partial

from cfeval.datasets.pair import ChangeKind, PairSet, RawPair, differ
from cfeval.datasets.pairs.rows import Opener, Place, Row, TablePlugin, TableSet, add, image, simple, text

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
