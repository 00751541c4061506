"""Small images; a module of its own, since processes that tests start need them and nothing else of the tests."""

import numpy as np

from cfeval.core.images import Image


def image(value: int = 0, size: tuple[int, int] = (8, 6)) -> Image:
    """A small image; another value gives another image."""
    pixels = np.full((*size, 3), value, dtype=np.uint8)
    pixels[0, 0] = (value, 255 - value, 7)
    return Image.from_pixels(pixels)
