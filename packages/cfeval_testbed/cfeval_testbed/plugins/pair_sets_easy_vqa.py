"""Given pairs of easy-VQA images: the shape in another color, or the ground in another tint.

Half of the changes, drawn by the id, are of the shape's color, the others of the ground, which no question is about.
"""

import random
from collections.abc import Iterator

from cfeval.core import plugin, registry
from cfeval.core.images import Image
from cfeval.core.registry import Component
from cfeval.core.sampling import derive_seed
from cfeval.datasets.pair import PairSet, RawPair
from cfeval_testbed.agents.repaint import RepaintError, find, repaint
from cfeval_testbed.language.questions import parse_question
from cfeval_testbed.records import BACKGROUNDS, EASY_VQA_COLORS, EditIntent

IMAGES: Component = ("datasets", {"plugin": "easy_vqa"})


class Plugin(plugin.Plugin):
    """Without options."""

    def components(self) -> tuple[Component, ...]:
        """The dataset whose images it changes."""
        return (IMAGES,)

    def build(self) -> PairSet:
        """The set."""
        return EasyVqaPairs()


class EasyVqaPairs:
    """Takes one question about each of some images, as the dataset `easy_vqa` does."""

    def pairs(self, items: int, seed: int) -> Iterator[RawPair]:
        """At most `items` pairs; an image whose shape is not found is left out."""
        for sample in registry.build(*IMAGES).samples(items, seed):
            rng = random.Random(derive_seed(seed, sample.id, "pair"))
            pair = _pair(sample.id, sample.image, sample.question, sample.reference, rng)
            if pair is not None:
                yield pair


def _pair(item: str, image: Image, question: str, right: str, rng: random.Random) -> RawPair | None:
    try:
        seen = find(image.pixels)
        of_color = rng.random() < 0.5
        values = EASY_VQA_COLORS if of_color else BACKGROUNDS
        old = seen.color if of_color else seen.background
        new = rng.choice([value for value in values if value != old])
        intent = EditIntent(kind="color" if of_color else "background", old=old, new=new)
        edited = Image.from_pixels(repaint(image.pixels, intent))
    except RepaintError:
        return None
    asked = parse_question(question)
    stays = not of_color or asked is None or asked.kind == "shape"
    after = new if asked is not None and asked.kind == "color" else ""
    told = [f"the {value} object" if of_color else f"the {value} background" for value in (old, new)]
    return RawPair(
        id=item,
        images=(image, edited),
        question=question,
        before=told[0],
        after=told[1],
        references=(right, right if stays else after),
        kind="attribute" if of_color else "background",
        verified="drawn so",
    )
