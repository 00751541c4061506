"""A classical pixel editor for easy-VQA images: finds the flat shape on its plain ground; repaints either."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import PIL.Image
from PIL import ImageDraw

from cfeval_testbed.records import EASY_VQA_SHAPES, EditIntent

Pixels = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]

COLOR_RGB = {
    "red": (255, 0, 0),
    "green": (0, 255, 0),
    "blue": (0, 0, 255),
    "black": (0, 0, 0),
    "gray": (128, 128, 128),
    "teal": (0, 128, 128),
    "brown": (165, 42, 42),
    "yellow": (255, 255, 0),
}
"""What easy-VQA's color names mean, RGB of 255."""
GROUND_RGB = {
    "gray": (232, 232, 232),
    "sand": (255, 246, 231),
    "sky": (231, 245, 255),
    "slate": (232, 233, 247),
    "mint": (231, 253, 238),
}
"""What the world's backgrounds mean on easy-VQA's grounds, which are all nearly white (230 to 255), RGB of 255."""
_FILL = {"triangle": 0.5, "circle": 0.785, "rectangle": 1.0}
"""Share of its bounding box that each shape covers."""
_FAR = 40.0
"""Least distance, in RGB of 255, between the ground and a pixel of the shape."""
_FINER = 8
"""Shapes are drawn this many times larger and averaged down."""


class RepaintError(ValueError):
    """The image shows no such flat shape, or the edit is not a color, a shape or a ground."""


@dataclass(frozen=True)
class Found:
    """The flat shape of an image: the ground's RGB, the shape's RGB, and its coverage (H, W) in [0, 1]."""

    ground: Floats
    paint: Floats
    coverage: Floats

    @property
    def color(self) -> str:
        """The nearest color name."""
        return _nearest(COLOR_RGB, self.paint)

    @property
    def background(self) -> str:
        """The nearest name of a ground."""
        return _nearest(GROUND_RGB, self.ground)

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom, the last two exclusive."""
        rows, columns = np.nonzero(self.coverage > 0.5)
        return int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1

    @property
    def shape(self) -> str:
        """The shape whose share of the bounding box is nearest."""
        left, top, right, bottom = self.box
        fill = float(self.coverage[top:bottom, left:right].mean())
        return min(_FILL, key=lambda name: abs(_FILL[name] - fill))


def repaint(pixels: Pixels, intent: EditIntent) -> Pixels:
    """The image with its shape's color or form changed, or its ground, and the rest untouched; uint8 (H, W, 3).

    Raises:
        RepaintError: see there.
    """
    found = find(pixels)
    if intent.kind == "color" and intent.new in COLOR_RGB:
        _expect(found.color, intent.old)
        return _paint(found.ground, np.array(COLOR_RGB[intent.new], dtype=np.float64), found.coverage)
    if intent.kind == "shape" and intent.new in EASY_VQA_SHAPES:
        _expect(found.shape, intent.old)
        return _paint(found.ground, found.paint, draw(intent.new, found.box, pixels.shape[:2]))
    if intent.kind == "background" and intent.new in GROUND_RGB:
        return _paint(np.array(GROUND_RGB[intent.new], dtype=np.float64), found.paint, found.coverage)
    raise RepaintError(
        f"this editor changes colors, shapes and grounds of easy-VQA, but got {intent.kind} to {intent.new!r}"
    )


def find(pixels: Pixels) -> Found:
    """The one flat shape of an image; RepaintError where there is none."""
    values = pixels.reshape(-1, 3).astype(np.float64)
    ground = _commonest(values)
    apart = values[np.abs(values - ground).sum(1) > _FAR]
    if len(apart) == 0:
        raise RepaintError("no shape stands out from the ground")
    paint = _commonest(apart)
    direction = paint - ground
    along = ((pixels.astype(np.float64) - ground) * direction).sum(-1) / (direction * direction).sum()
    coverage = np.minimum(np.maximum(along, 0), 1)
    if not (coverage > 0.5).any() or float((coverage > 0.5).mean()) > 0.6:
        raise RepaintError("no flat shape on a plain ground was found")
    return Found(ground, paint, coverage)


def draw(shape: str, box: tuple[int, int, int, int], size: tuple[int, int]) -> Floats:
    """Coverage (H, W) in [0, 1] of the largest such shape in a box; the triangle stands on its base."""
    canvas = PIL.Image.new("L", (size[1] * _FINER, size[0] * _FINER))
    left, top, right, bottom = (edge * _FINER for edge in box)
    pen = ImageDraw.Draw(canvas)
    if shape == "circle":
        across, down, radius = (left + right) / 2, (top + bottom) / 2, min(right - left, bottom - top) / 2
        pen.ellipse((across - radius, down - radius, across + radius - 1, down + radius - 1), fill=255)
    elif shape == "rectangle":
        pen.rectangle((left, top, right - 1, bottom - 1), fill=255)
    else:
        pen.polygon([((left + right) / 2, top), (left, bottom - 1), (right - 1, bottom - 1)], fill=255)
    finer = np.asarray(canvas, dtype=np.float64).reshape(size[0], _FINER, size[1], _FINER)
    return np.asarray(finer.mean((1, 3)) / 255)


def _nearest(named: Mapping[str, tuple[int, int, int]], rgb: Floats) -> str:
    return min(named, key=lambda name: float(np.abs(rgb - np.array(named[name])).sum()))


def _paint(ground: Floats, rgb: Floats, coverage: Floats) -> Pixels:
    cover = coverage[..., None]
    mixed = ground * (1 - cover) + rgb * cover
    return np.floor(mixed + 0.5).astype(np.uint8)


def _expect(seen: str, old: str) -> None:
    if old not in ("", seen):
        raise RepaintError(f"the shape is {seen}, not {old}")


def _commonest(values: Floats) -> Floats:
    colors, counts = np.unique(values, axis=0, return_counts=True)
    return np.asarray(colors[counts.argmax()])
