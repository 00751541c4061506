"""Pairs of images as questions: the same question about the original image and about the changed one.

Any set of pairs that edct reads can be asked so, and each reader has the set's card: `naturalbench`, `vismin`,
`coco_counterfactuals`, `hallusionbench`, `visual_counterfact`, `vlms_are_biased`, `files`. What changes is the image
and not the question, so that a difference says how much harder the changed images are; it is no loss under an *if*.
A pair without known right answers is left out, and said.

Published figures, as their sources give them; none is of this very measure, which asks about each image by itself:

- NaturalBench (arXiv:2410.14669, abstract): open models and GPT-4o lag 50 to 70 % behind people, who are above 90 %.
- VisMin, COCO-Counterfactuals: no figure of this kind found.
"""

from collections.abc import Iterator
from typing import Any

from cfeval.core import plugin, registry
from cfeval.core.image_folders import LeftOut
from cfeval.cvqa.interfaces import QuestionSet, RawPair, Sizes
from cfeval.cvqa.question_tables import UnusableError, question_of
from cfeval.datasets.pair import PairSet
from cfeval.datasets.pairs.benchmarks import ENDINGS
from cfeval.datasets.sample import left_out_by

_ALL = 10**9


class Plugin(plugin.Plugin):
    """Which pairs."""

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
        for pair in self.source.pairs(items or _ALL, seed):
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
        return Sizes(in_table() if in_table else sum(1 for _ in self.source.pairs(_ALL, 0)))
