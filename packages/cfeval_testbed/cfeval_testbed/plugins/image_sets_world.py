"""Drawn cells of 40 classes (`cfeval_testbed.scenes`)."""

import random
from collections.abc import Iterator, Sequence

from cfeval.core import plugin
from cfeval.core.errors import InputError, nearest
from cfeval.core.images import Image
from cfeval.core.sampling import derive_seed
from cfeval.vce.interfaces import ImageSet, LabelledImage
from cfeval_testbed.render import CELL
from cfeval_testbed.scenes import CELL_CLASSES, draw_cells


class Plugin(plugin.Plugin):
    """Without options."""

    def class_names(self) -> tuple[str, ...]:
        """The cells."""
        return CELL_CLASSES

    def build(self) -> ImageSet:
        """The set."""
        return World()


class World:
    """Draws as many cells of each class as are wanted."""

    classes = CELL_CLASSES

    def images(self, labels: Sequence[str], count: int, size: int, seed: int) -> Iterator[LabelledImage]:
        """Each cell has a seed of its own, from the study's, its class and its number."""
        if size != CELL:
            raise InputError(f"image set 'world': cells are {CELL} pixels wide, but the denoiser wants {size}")
        for label in labels:
            if label not in CELL_CLASSES:
                raise InputError(f"image set 'world': unknown class '{label}'; {nearest(label, CELL_CLASSES)}")
            for number in range(count):
                (cell,) = draw_cells([label], random.Random(derive_seed(seed, label, number)))
                yield LabelledImage(f"{label.replace(' ', '-')}-{number:04d}", label, Image.from_pixels(cell))
