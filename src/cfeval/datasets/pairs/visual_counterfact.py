"""Visual CounterFact: objects in a color that they never have, and pairs of objects whose sizes are turned round.

- Data: 493 pairs of colors (split `color`) and 727 of sizes (split `size`): a usual image and its counterfactual.
- Paper: Golovanevsky et al., Pixels Versus Priors: Controlling Knowledge Priors in Vision-Language Models through
  Visual Counterfacts (2025, arXiv:2505.17127).
- License: none is named on the card; ask the authors before passing images on.
- Where: data set mgolov/Visual-Counterfact at Hugging Face: `data/color-*.parquet` and `data/size-*.parquet`.
- Fields: `correct_answer` (in the usual image), `incorrect_answer` (in the counterfactual one), `object`,
  `original_image`, `counterfact_image`.
  Of colors, `correct_answer` is a list, written as text (`['red', 'green']`).
- Known faults: the images are generated or edited by models; which objects of a pair of sizes are compared stands in
  `object` as one text, so that the question repeats it as it is.

By rule: the question is the color of the object, or which of the two is larger, by `split`; the biased answer
is that to the usual image. Where an object has several usual colors, neither is told.
"""

import re
from functools import partial
from typing import Literal

from cfeval.datasets.pair import PairSet, RawPair
from cfeval.datasets.pairs.rows import Place, Row, TablePlugin, image, simple, text

QUESTIONS = {
    "color": "What color is the {object} in this image? Answer with one word.",
    "size": "Which is larger in this image: {object}? Answer with the name alone.",
}


class Plugin(TablePlugin):
    """Where the Parquet file of a split is."""

    split: Literal["color", "size"]
    """Which split the file holds."""

    def build(self) -> PairSet:
        """The set."""
        question = QUESTIONS[self.split]
        return simple(self, partial(_pair, question=question, color=self.split == "color"), _name)


def _name(row: Row) -> str:
    return "-".join(str(row.get(column)) for column in ("object", "correct_answer", "incorrect_answer"))


def _pair(place: Place, row: Row, item: str, *, question: str, color: bool) -> RawPair:
    named = text(place, row, "object")
    usual, other = _answers(text(place, row, "correct_answer")), text(place, row, "incorrect_answer")
    right = usual[0] if len(usual) == 1 else ""
    told = "{value} {object}" if color else "the {value} is larger"
    return RawPair(
        id=item,
        pictures=(image(place, row, "original_image"), image(place, row, "counterfact_image")),
        question=question.replace("{object}", named),
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
