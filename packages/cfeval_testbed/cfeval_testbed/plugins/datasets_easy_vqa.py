"""easy-VQA's test split: 1,000 images of one colored shape, with questions (PyPI `easy-vqa`, Victor Zhou, MIT)."""

import random
from collections.abc import Iterator

from cfeval.core import plugin
from cfeval.core.images import import_image
from cfeval.datasets.sample import Dataset, Part, RawSample
from cfeval_testbed.easy_vqa import image_paths, rows_of


class Plugin(plugin.Plugin):
    """Without options."""

    def build(self) -> Dataset:
        """The dataset."""
        return EasyVqa()


class EasyVqa:
    """Takes one question about each of some images."""

    def samples(self, items: int, seed: int, part: Part | None = None) -> Iterator[RawSample]:
        """At most 1,000 items, each about another image, in an order that the seed draws."""
        rng = random.Random(seed)
        paths, rows = image_paths("test"), rows_of("test")
        rng.shuffle(rows)
        first = {row[0]: row for row in reversed(rows)}
        order = [row for row in rows if first[row[0]] is row]
        for image, text, question, answer in order[:items]:
            name = f"easy-vqa-{image:04d}"
            if part and not part.takes(name):
                continue
            yield RawSample(
                id=name,
                image=import_image(paths[image]),
                question=text,
                reference=answer,
                kind=question.kind,
            )
