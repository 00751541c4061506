"""Small pictures; a module of its own, since processes that tests start need them and nothing else of the tests."""

import numpy as np

from cfeval.core.images import Picture


def picture(value: int = 0, size: tuple[int, int] = (8, 6)) -> Picture:
    """A small picture; another value gives another picture."""
    pixels = np.full((*size, 3), value, dtype=np.uint8)
    pixels[0, 0] = (value, 255 - value, 7)
    return Picture.from_pixels(pixels)
