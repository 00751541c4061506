"""HallusionBench: figures, charts, maps and illusions, each edited so that the right answer to a question changes.

- Data: HallusionBench.json, 1,129 questions; VD (need the image) and VS (may be answered without it).
- Paper: Guan et al., HallusionBench: An Advanced Diagnostic Suite for Entangled Language Hallucination and Visual
  Illusion in Large Vision-Language Models (CVPR 2024, arXiv:2310.14566).
- License: BSD 3-Clause.
- Where: github.com/tianyi-lab/HallusionBench: HallusionBench.json, and hallusion_bench.zip unpacked beside it.
- Fields: `category`, `subcategory`, `visual_input`, `set_id`, `figure_id`, `sample_note`, `question_id`, `question`,
  `gt_answer_details`, `gt_answer` (1: yes, 0: no), `filename` (./hallusion_bench/VD/illusion/0_0.png).
- Known faults: what was changed is not told; it is taken from the two explanations of the right answers. Some figures
  differ in more than one thing. `visual_input` 0 has no image.

By rule: figure 0 of a set is the original, another figure of the set its change; a question that both have, word by
word, is asked about both. Pairs whose right answers are equal are kept: there the answer should stay.
"""

from collections.abc import Iterator
from functools import partial

from cfeval.datasets.pair import PairSet, RawPair
from cfeval.datasets.pairs.rows import (
    Opener,
    Place,
    Row,
    TablePlugin,
    TableSet,
    add,
    changed_words,
    image,
    safe,
    text,
)

ANSWERS = {"0": "no", "1": "yes"}
NAMED = ("category", "subcategory", "set_id", "question_id")


class Plugin(TablePlugin):
    """Where HallusionBench.json is, beside its folder of images or with the option `images`."""

    def build(self) -> PairSet:
        """The set."""
        return TableSet(self, _openers)


def _openers(rows: Iterator[tuple[Place, Row]]) -> dict[str, Opener]:
    originals: dict[tuple[str, ...], Row] = {}
    changed: list[tuple[Place, Row]] = []
    for place, row in rows:
        if text(place, row, "visual_input") == "0" or not row.get("filename"):
            continue
        if text(place, row, "figure_id") == "0":
            originals[_key(place, row)] = row
        else:
            changed.append((place, row))
    found: dict[str, Opener] = {}
    for place, row in changed:
        if (first := originals.get(_key(place, row))) is not None:
            item = safe("-".join(text(place, row, name) for name in (*NAMED, "figure_id")))
            add(found, place, item, partial(_pair, place, first, row))
    return found


def _key(place: Place, row: Row) -> tuple[str, ...]:
    return tuple(text(place, row, name) for name in ("category", "subcategory", "set_id", "question"))


def _pair(place: Place, first: Row, second: Row, item: str) -> RawPair:
    before, after = changed_words(*(text(place, row, "gt_answer_details") for row in (first, second)))
    files = [{"filename": text(place, row, "filename").removeprefix("./")} for row in (first, second)]
    return RawPair(
        id=item,
        pictures=(image(place, files[0], "filename"), image(place, files[1], "filename")),
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
