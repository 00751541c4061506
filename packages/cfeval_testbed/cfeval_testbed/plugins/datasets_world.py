"""Drawn scenes of known truth, with questions.

The background hints at the right answer, so that a model that takes the hint is as accurate as one that looks.
"""

from collections.abc import Iterator

from cfeval.core import plugin
from cfeval.core.images import Image
from cfeval.datasets.sample import Dataset, Part, RawSample
from cfeval_testbed.items import EDITABLE_KINDS, generate_items
from cfeval_testbed.language.questions import QuestionKind
from cfeval_testbed.render import render
from cfeval_testbed.scenes import as_metadata


class Plugin(plugin.Plugin):
    """Which questions."""

    kinds: tuple[QuestionKind, ...] = EDITABLE_KINDS
    """They take turns. Questions about the background are left out: citing the background is faithful there."""
    correlated: bool = True
    """Whether the background hints at the right answer."""

    def build(self) -> Dataset:
        """The dataset."""
        return World(self)


class World:
    """Draws as many items as are wanted."""

    def __init__(self, options: Plugin) -> None:
        self.options = options

    def samples(self, items: int, seed: int, part: Part | None = None) -> Iterator[RawSample]:
        """Items that differ by seed; the first ones stay the same when more are wanted."""
        drawn = generate_items(items, seed, self.options.kinds, correlated=self.options.correlated)
        for number, item in enumerate(drawn):
            name = f"world-{number:05d}"
            if part and not part.takes(name):
                continue
            yield RawSample(
                id=name,
                image=Image.from_pixels(render(item.scene)),
                question=item.question,
                reference=item.answer,
                kind=item.kind,
                metadata=as_metadata(item.scene),
            )
