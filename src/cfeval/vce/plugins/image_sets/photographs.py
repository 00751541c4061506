"""Photographs that come with scikit-image, under the name of an ImageNet class: real images without a download.

Only those of something that ImageNet has a class for, and that EfficientNet-Lite 0, 1 and 2 all recognise. ImageNet has
no motorcycle; the nearest class, which they name, is moped. Chelsea is a tabby; they name the class that ImageNet's
photographs of such cats are most often in.

There is one photograph of each class. The first image is its middle; the further ones are squares of 80 to 100 % of its
shorter side that the seed places, every other one mirrored, so they are views of one photograph and not independent.
"""

import random
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.core.images import Image, center_crop
from cfeval.core.registry import Diagnostic
from cfeval.inference.local.pretrained import finding
from cfeval.vce.interfaces import ImageSet, LabelledImage
from cfeval.vce.plugins.image_folders import check_label, opened


class Photograph(NamedTuple):
    """A file of scikit-image, and how the image's id begins."""

    file: str
    id: str


PHOTOGRAPHS = {
    "Egyptian cat": Photograph("chelsea.png", "cat"),
    "espresso": Photograph("coffee.png", "coffee"),
    "moped": Photograph("motorcycle_left.png", "motorcycle"),
    "tripod": Photograph("camera.png", "camera"),
}
"""By the name of their class."""
LEAST = 0.8
"""The smallest square that the seed draws, as a share of the shorter side."""


class Plugin(plugin.Plugin):
    """Without options."""

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether the photographs are there."""
        yield finding(lambda: f"{len([_path(label) for label in PHOTOGRAPHS])} photographs are here")

    def class_names(self) -> tuple[str, ...]:
        """The four photographs'."""
        return tuple(PHOTOGRAPHS)

    def build(self) -> ImageSet:
        """The set."""
        return Photographs()


class Photographs:
    """Opens a photograph for each label and cuts squares out of it."""

    classes = tuple(PHOTOGRAPHS)

    def images(self, labels: Sequence[str], count: int, size: int, seed: int) -> Iterator[LabelledImage]:
        """See `ImageSet.images`."""
        for label in labels:
            check_label(label, self.classes, "photographs")
            photograph = opened(_path(label), gray=True)
            for number in range(count):
                view = _view(photograph, number, f"{seed} {label} {number}")
                square = center_crop(view, size, 1.0, f"scikit-image's {PHOTOGRAPHS[label].file}")
                yield LabelledImage(f"{PHOTOGRAPHS[label].id}-{number:03d}", label, square)


def _view(photograph: Image, number: int, seed: str) -> Image:
    """The photograph itself, or a square of it that the seed places."""
    if number == 0:
        return photograph
    drawn = random.Random(seed)
    pixels = photograph.pixels
    side = round(min(pixels.shape[:2]) * drawn.uniform(LEAST, 1))
    top, left = (drawn.randint(0, length - side) for length in pixels.shape[:2])
    square = pixels[top : top + side, left : left + side]
    return Image.from_pixels(np.ascontiguousarray(square[:, ::-1] if number % 2 else square))


def _path(label: str) -> Path:
    found = find_spec("skimage")
    folder = Path(found.origin).parent / "data" if found and found.origin else Path()
    path = folder / PHOTOGRAPHS[label].file
    if not path.is_file():
        raise PluginError(f"'{path.name}', a photograph of the package 'scikit-image', is not there; install it again")
    return path
