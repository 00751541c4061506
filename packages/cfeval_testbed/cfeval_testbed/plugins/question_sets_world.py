"""Counterfactual questions about drawn scenes of the test bed, with exact answers, in the groups of C-VQA-Real.

The original questions about objects, and those of the boolean group, are the ones that the world's own model knows.
"""

import random
from collections.abc import Iterator

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.images import Image
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.interfaces import QuestionSet, RawPair, Sizes
from cfeval.cvqa.records import Gender, Question
from cfeval_testbed.counterfactual_questions.draw import GROUPS, Group, draw
from cfeval_testbed.people import with_figure
from cfeval_testbed.render import render
from cfeval_testbed.scenes import as_metadata


class Plugin(plugin.Plugin):
    """Which questions."""

    groups: tuple[Group, ...] = Field(GROUPS, min_length=1)
    """They take turns."""
    unchanged: float = Field(0.1, ge=0, le=1)
    """Share of indirect and boolean questions whose answer stays as it is; published: .057 and .023."""
    known: bool = False
    """Only originals that the world's own model has words for: it counts objects, not red ones."""
    people: float = Field(0.0, ge=0, le=1)
    """Share of images with a figure as on signs, a woman or a man by lot; no question is about it."""
    items: int = Field(300, ge=1)
    """How many pairs there are where all of them are wanted."""

    def build(self) -> QuestionSet:
        """The set."""
        return World(self)


class World:
    """Draws as many pairs as are wanted, each by a seed of its own: wanting more changes none."""

    skipped: tuple[str, ...] = ()

    def __init__(self, options: Plugin) -> None:
        self.options = options

    def sizes(self, items: int | None) -> Sizes:
        """As many as are wanted."""
        return Sizes(self.options.items if items is None else items)

    def pairs(self, items: int | None, seed: int) -> Iterator[RawPair]:
        """The pairs, numbered from 1."""
        for number in range(1, self.sizes(items).all + 1):
            yield self._pair(number, seed)

    def _pair(self, number: int, seed: int) -> RawPair:
        name, groups = f"world-{number:05d}", self.options.groups
        group = groups[(number - 1) % len(groups)]
        rng = random.Random(derive_seed(seed, "counterfactual", number))
        drawn = draw(group, rng, self.options.unchanged, self.options.known)
        pixels, people = render(drawn.scene), self._people(number, seed)
        return RawPair(
            id=name,
            image=Image.from_pixels(with_figure(pixels, people) if people else pixels),
            original=Question(question=drawn.original, answer=drawn.original_answer),
            counterfactual=Question(question=drawn.question, answer=drawn.answer),
            type=group,
            img_path=f"{name}.png",
            metadata=as_metadata(drawn.scene),
            people=people,
        )

    def _people(self, number: int, seed: int) -> Gender | None:
        """Drawn by a seed of its own: the share changes neither scenes nor questions."""
        rng = random.Random(derive_seed(seed, "people", number))
        if rng.random() >= self.options.people:
            return None
        return "female" if rng.random() < 0.5 else "male"
