"""Drawn cells of 40 classes (`cfeval.world.cells`)."""

import random
from collections.abc import Iterator, Sequence

from cfeval.backends.image_sets.base import ImageSet, LabelledImage
from cfeval.backends.registry import PluginOptions
from cfeval.errors import InputError, nearest
from cfeval.io.pictures import Picture
from cfeval.seeds import derive
from cfeval.world.cells import CELL_CLASSES, draw_cells
from cfeval.world.render import CELL


class Options(PluginOptions):
    """There are none."""


def build(options: Options) -> ImageSet:
    """The set."""
    del options
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
                (cell,) = draw_cells([label], random.Random(derive(seed, label, number)))
                yield LabelledImage(f"{label.replace(' ', '-')}-{number:04d}", label, Picture.from_pixels(cell))
