"""HallusionBench: figures, charts, maps and illusions, each edited so that the right answer to a question changes.

- Data: HallusionBench.json, 1,129 questions; VD (need the image) and VS (may be answered without it).
- Paper: Guan et al., HallusionBench: An Advanced Diagnostic Suite for Entangled Language Hallucination and Visual
  Illusion in Large Vision-Language Models (CVPR 2024, arXiv:2310.14566).
- License: BSD 3-Clause.
- Where: github.com/tianyi-lab/HallusionBench: HallusionBench.json, and hallusion_bench.zip unpacked beside it.
- Fields: `category`, `subcategory`, `visual_input`, `set_id`, `figure_id`, `sample_note`, `question_id`, `question`,
  `gt_answer_details`, `gt_answer` (1: yes, 0: no), `filename` (./VD/illusion/0_0.png, below hallusion_bench;
  earlier with that folder's name; null where there is no image). All are texts.
- Known faults: what was changed is not told; it is taken from the two explanations of the right answers. Some figures
  differ in more than one thing. Figures of the subcategory video are frames of a film in one image.

By rule: the first figure of a set that has an image is the original (0 in VD, 1 in VS, whose figure 0 is none), another
its change; a question that both have, word by word, is asked about both. Pairs whose right answers are equal are kept:
there the answer should stay. Pairs whose explanations are equal but for letter case and marks are left out, since
nothing says what was changed: 44 of the 472 of the file at commit 14a1779, all with equal right answers.
"""

from collections.abc import Iterator
from functools import partial

from cfeval.datasets.pair import PairSet, RawPair
from cfeval.datasets.pairs.captions import changed_words, differ
from cfeval.datasets.pairs.rows import Opener, Place, Row, TablePlugin, TableSet, add, image, text

ANSWERS = {"0": "no", "1": "yes"}
NAMED = ("category", "subcategory", "set_id", "question_id")
FOLDER = "hallusion_bench"
"""What the archive of images unpacks to."""


class Plugin(TablePlugin):
    """Where HallusionBench.json is, beside its folder of images or with the option `images`."""

    def build(self) -> PairSet:
        """The set."""
        return TableSet(self, _openers)


def _openers(rows: Iterator[tuple[Place, Row]]) -> dict[str, Opener | None]:
    figures: dict[tuple[str, ...], list[tuple[Place, Row]]] = {}
    for place, row in rows:
        if text(place, row, "visual_input") != "0" and row.get("filename"):
            figures.setdefault(_key(place, row), []).append((place, row))
    found: dict[str, Opener | None] = {}
    for same in figures.values():
        (_, first), *others = sorted(same, key=lambda one: _figure(*one))
        for place, row in others:
            if _figure(place, row) != _figure(place, first):
                item = "-".join(text(place, row, name) for name in (*NAMED, "figure_id"))
                told = differ(*(text(place, one, "gt_answer_details") for one in (first, row)))
                add(found, place, item, partial(_pair, place, first, row) if told else None)
    return found


def _figure(place: Place, row: Row) -> tuple[int, str]:
    number = text(place, row, "figure_id")
    return len(number), number


def _key(place: Place, row: Row) -> tuple[str, ...]:
    return tuple(text(place, row, name) for name in ("category", "subcategory", "set_id", "question"))


def _pair(place: Place, first: Row, second: Row, item: str) -> RawPair:
    before, after = changed_words(*(text(place, row, "gt_answer_details") for row in (first, second)))
    files = [{"filename": _file(place, text(place, row, "filename"))} for row in (first, second)]
    return RawPair(
        id=item,
        images=(image(place, files[0], "filename"), image(place, files[1], "filename")),
        question=f"{text(place, second, 'question')} Answer yes or no, and nothing else.",
        before=before,
        after=after,
        references=(
            ANSWERS[text(place, first, "gt_answer", tuple(ANSWERS))],
            ANSWERS[text(place, second, "gt_answer", tuple(ANSWERS))],
        ),
        kind="other",
        verified="the authors (HallusionBench)",
    )


def _file(place: Place, name: str) -> str:
    """The image's path with the unpacked folder before it, where it lies there."""
    below = f"{FOLDER}/{name.removeprefix('./')}"
    return below if any((folder / below).is_file() for folder in place.folders) else name.removeprefix("./")
