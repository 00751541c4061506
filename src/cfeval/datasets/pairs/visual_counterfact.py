"""Visual CounterFact: objects in a color that they never have, and pairs of objects whose sizes are turned round.

- Data: 493 pairs of colors (split `color`) and 727 of sizes (split `size`): a usual image and its counterfactual.
- Paper: Golovanevsky et al., Pixels Versus Priors: Controlling Knowledge Priors in Vision-Language Models through
  Visual Counterfacts (2025, arXiv:2505.17127).
- License: none is named on the card; ask the authors before passing images on.
- Where: dataset mgolov/Visual-Counterfact at Hugging Face: `data/color-*.parquet` and `data/size-*.parquet`.
- Fields: `correct_answer` (in the usual image), `incorrect_answer` (in the counterfactual one), `object`,
  `original_image`, `counterfact_image`.
  Of colors, `correct_answer` is a list, written as text (`['red', 'green']`). Of sizes, both answers are objects, and
  `object` is not read.
- Known faults: the images are generated or edited by models. A few counterfactual colors are among the usual ones
  (radish, spider): those pairs are left out.

By rule: the question is the color of the object, or which of the two answers is larger, in the order of the alphabet,
by `split`; the biased answer is that to the usual image. Where an object has several usual colors, neither is told.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Literal

from cfeval.datasets.pair import PairSet, RawPair
from cfeval.datasets.pairs.rows import Opener, Place, Row, TablePlugin, TableSet, add, image, text

QUESTIONS = {
    "color": "What color is the {object} in this image? Answer with one word.",
    "size": "Which is larger in this image, {object}? Answer with the name alone.",
}


class Plugin(TablePlugin):
    """Where the Parquet file of a split is."""

    split: Literal["color", "size"]
    """Which split the file holds."""

    def build(self) -> PairSet:
        """The set."""
        return TableSet(self, partial(_openers, color=self.split == "color"))


def _openers(rows: Iterator[tuple[Place, Row]], *, color: bool) -> dict[str, Opener | None]:
    found: dict[str, Opener | None] = {}
    for place, row in rows:
        usual, other = _answers(text(place, row, "correct_answer")), text(place, row, "incorrect_answer")
        if other.lower() not in [one.lower() for one in usual]:
            named = (row.get(column) for column in ("object", "correct_answer", "incorrect_answer"))
            opener = partial(_pair, place, row, usual=usual, other=other, color=color)
            add(found, place, "-".join(map(str, named)), opener)
    return found


def _pair(place: Place, row: Row, item: str, *, usual: list[str], other: str, color: bool) -> RawPair:
    named = text(place, row, "object") if color else " or ".join(sorted([*usual, other], key=str.lower))
    right = usual[0] if len(usual) == 1 else ""
    told = "{value} {object}" if color else "the {value} is larger"
    return RawPair(
        id=item,
        images=(image(place, row, "original_image"), image(place, row, "counterfact_image")),
        question=QUESTIONS["color" if color else "size"].replace("{object}", named),
        before=told.replace("{value}", " or ".join(usual)).replace("{object}", named),
        after=told.replace("{value}", other).replace("{object}", named),
        references=(right, other),
        kind="attribute",
        biased=right,
        verified="the authors (Visual CounterFact)",
    )


def _answers(cell: str) -> list[str]:
    """The answers of a cell: one as it is, or those of a list that is written as text."""
    found = re.findall(r"'([^']*)'|\"([^\"]*)\"", cell) if cell.startswith("[") else []
    return [one or other for one, other in found] or [cell]
