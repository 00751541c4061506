"""A transparent square on which an icon is drawn in units of its radius, and made smaller for smooth edges.

All coordinates become whole pixels of the large square before anything is drawn, so that the pixels are the same on
every CPU.
"""

import math
from collections.abc import Sequence

from PIL import Image, ImageDraw

from cfeval.records.puzzles import Point
from cfeval.world.puzzles.look import Rgb

_FINER = 8
"""Pixels of the large square for one of the icon, each way."""


class Canvas:
    """The centre is (0, 0), y points down, and the icon's circle has radius 1."""

    def __init__(self, radius: int) -> None:
        self._half = radius * _FINER
        self._image = Image.new("RGBA", (2 * self._half, 2 * self._half), (0, 0, 0, 0))
        self._draw = ImageDraw.Draw(self._image)

    def sprite(self) -> Image.Image:
        """The icon at its own size, RGBA."""
        return self._image.reduce(_FINER)

    def disc(self, x: float, y: float, radius: float, color: Rgb) -> None:
        """A filled circle."""
        box = [self._at(value) for value in (x - radius, y - radius, x + radius, y + radius)]
        self._draw.ellipse((box[0], box[1], box[2] - 1, box[3] - 1), fill=(*color, 255))

    def shape(self, points: Sequence[Point], color: Rgb) -> None:
        """A filled polygon."""
        self._draw.polygon([(self._at(x), self._at(y)) for x, y in points], fill=(*color, 255))

    def petal(self, turn: float, near: float, far: float, width: float, color: Rgb) -> None:
        """An ellipse that points away from the centre.

        Args:
            turn: its direction, in whole turns clockwise from the top.
            near: how far from the centre it begins.
            far: how far from the centre it ends.
            width: half of its greatest width.
            color: of all of it.
        """
        middle, half = (near + far) / 2, (far - near) / 2
        cos, sin = _direction(turn)
        points = []
        for step in range(32):
            across, along = _direction(step / 32)
            u, v = width * across, middle + half * along
            points.append((v * sin + u * cos, -v * cos + u * sin))
        self.shape(points, color)

    def _at(self, value: float) -> int:
        return round(self._half * (1 + value))


def _direction(turn: float) -> tuple[float, float]:
    """The cosine and sine of so many whole turns, rounded so that every CPU has the same."""
    return round(math.cos(2 * math.pi * turn), 9), round(math.sin(2 * math.pi * turn), 9)
