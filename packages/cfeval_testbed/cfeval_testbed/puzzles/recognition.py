"""Reads a puzzle off its pixels: what is in the image, and what lies within an outline. No record is looked at.

It knows the palette and the scale of `look`, and rests on colors that are exact: images that a JPEG has passed
through, or that were made smaller, it does not read.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from cfeval.cvqa.synthetic.records import (
    BACKGROUND,
    CIRCLE_RADII,
    CIRCLE_RGB,
    DOT_RADIUS,
    DOT_RGB,
    ICON_RADIUS,
    POLYGON_RGB,
    Rgb,
    scaled,
    tinted,
)

Kind = Literal["dot", "circle", "polygon", "flower"]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Box = tuple[int, int, int, int]
"""Left, top, right, bottom; right and bottom are exclusive."""
_ALL_AROUND = np.ones((3, 3), dtype=np.bool_)
_RAYS = 64


@dataclass(frozen=True)
class Thing:
    """Something in the image; only polygons have a color, by its name."""

    kind: Kind
    box: Box
    color: str = ""

    @property
    def middle(self) -> tuple[float, float]:
        """The middle of its box."""
        left, top, right, bottom = self.box
        return (left + right) / 2, (top + bottom) / 2


@dataclass(frozen=True)
class Sight:
    """All that is in an image. Circles come row by row from the left, the rest from the top."""

    things: tuple[Thing, ...]
    outlines: dict[str, Bools]
    """The lines of a polygon by its color, (H, W): broken where another line crosses them."""

    def holds(self, outer: Thing, x: float, y: float) -> bool:
        """Whether a point lies within the outline of a thing.

        From within a polygon a straight line to the border crosses its outline an odd number of times. Lines run in 64
        directions and the majority decides: some meet the outline where another one hides it, or in a corner.
        """
        if outer.kind == "polygon":
            return _odd_crossings(self.outlines[outer.color], outer.box, x, y)
        return _in_ellipse(outer.box, x, y)


def see(pixels: npt.NDArray[np.uint8]) -> Sight:
    """All that is in an image, (H, W, 3), uint8."""
    size = max(pixels.shape[:2])
    packed = pixels.astype(np.int32) @ np.array([65536, 256, 1], dtype=np.int32)
    colored: dict[str, Bools] = {name: packed == _packed(rgb) for name, rgb in POLYGON_RGB.items()}
    drawn = [name for name, mask in colored.items() if np.count_nonzero(mask) >= size]
    labels, _ = ndimage.label(~np.isin(packed, _grounds(drawn)))
    boxes = dict(enumerate(map(_box, ndimage.find_objects(labels)), 1))
    large = {label for label, box in boxes.items() if _extent(box) > 3 * scaled(ICON_RADIUS, size)}
    rings = {label for label in large if _is_circle(packed, boxes[label], size)}
    circles = in_rows([Thing("circle", boxes[label]) for label in rings])
    lines = np.isin(labels, list(large - rings))
    outlines = {name: colored[name] & lines for name in drawn if np.count_nonzero(colored[name] & lines) >= size}
    apart = [box for label, box in boxes.items() if label not in large and not _held(circles, box)]
    things = (
        *circles,
        *(_thing_around("polygon", mask, name) for name, mask in outlines.items()),
        *_in_order(Thing("dot", box) for box in _dots(packed, size) if _held(circles, box)),
        *_in_order(Thing("flower", box) for box in _joined(apart, size)),
    )
    # A line that is three pixels wide can be passed between two pixels that touch at a corner.
    wide = {name: ndimage.binary_dilation(mask, structure=_ALL_AROUND) for name, mask in outlines.items()}
    return Sight(things, wide)


def in_rows(things: Sequence[Thing]) -> list[Thing]:
    """Row by row, each from the left. What is lower by less than its height is in the same row."""
    rows: list[list[Thing]] = []
    for thing in sorted(things, key=lambda one: one.middle[1]):
        if rows and thing.middle[1] - rows[-1][0].middle[1] < thing.box[3] - thing.box[1]:
            rows[-1].append(thing)
        else:
            rows.append([thing])
    return [thing for row in rows for thing in sorted(row, key=lambda one: one.middle[0])]


def _packed(rgb: Rgb) -> int:
    return rgb[0] << 16 | rgb[1] << 8 | rgb[2]


def _grounds(colors: Sequence[str]) -> list[int]:
    """What the ground can look like: white, tinted by a polygon, tinted by two."""
    names = [name for name in POLYGON_RGB if name in colors]
    tints = [(one,) for one in names] + [(one, other) for one in names for other in names if one != other]
    return [_packed(BACKGROUND), *(_packed(tinted(tint)) for tint in tints)]


def _box(part: tuple[slice, ...]) -> Box:
    rows, columns = part
    return columns.start, rows.start, columns.stop, rows.stop


def _extent(box: Box) -> int:
    return max(box[2] - box[0], box[3] - box[1])


def _is_circle(packed: npt.NDArray[np.int32], box: Box, size: int) -> bool:
    """Whether a region has the line of a circle around it."""
    left, top, right, bottom = box
    round_ = abs((right - left) - (bottom - top)) <= 2 and _extent(box) <= 2 * scaled(CIRCLE_RADII[1], size) + 2
    lined = np.count_nonzero(packed[top:bottom, left:right] == _packed(CIRCLE_RGB))
    return round_ and bool(lined >= _extent(box))


def _dots(packed: npt.NDArray[np.int32], size: int) -> list[Box]:
    """What has the color of dots, and is as large as one; their pale rims do not count."""
    marks, _ = ndimage.label(packed == _packed(DOT_RGB))
    boxes = [_box(part) for part in ndimage.find_objects(marks)]
    return [box for box in boxes if _extent(box) >= scaled(DOT_RADIUS, size)]


def _held(circles: Sequence[Thing], box: Box) -> bool:
    """Whether something lies in one of the circles."""
    return any(_in_ellipse(circle.box, *Thing("dot", box).middle) for circle in circles)


def _joined(boxes: Sequence[Box], size: int) -> list[Box]:
    """Flowers, of which one may be in pieces: those that have room in the place of one flower belong together."""
    radius = scaled(ICON_RADIUS, size)
    found: list[Box] = []
    for box in sorted(boxes, key=_extent, reverse=True):
        unions = [_union(box, other) for other in found]
        fitting = [n for n, union in enumerate(unions) if _extent(union) <= 2 * radius + 1]
        if fitting:
            best = min(fitting, key=lambda n: _extent(unions[n]))
            found[best] = unions[best]
        else:
            found.append(box)
    return [box for box in found if _extent(box) >= radius]


def _union(one: Box, other: Box) -> Box:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def _thing_around(kind: Kind, mask: Bools, color: str) -> Thing:
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    return Thing(kind, (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1), color)


def _in_order(things: Iterator[Thing]) -> list[Thing]:
    return sorted(things, key=lambda thing: (thing.box[1], thing.box[0]))


def _in_ellipse(box: Box, x: float, y: float) -> bool:
    left, top, right, bottom = box
    across, down = (2 * x - left - right) / (right - left), (2 * y - top - bottom) / (bottom - top)
    return across * across + down * down <= 1


def _odd_crossings(outline: Bools, box: Box, x: float, y: float) -> bool:
    """Whether most rays from a point cross an outline an odd number of times; beyond its box there is nothing of it."""
    height, width = outline.shape
    left, top, right, bottom = box
    far = math.hypot(max(x - left, right - x) + 2, max(y - top, bottom - y) + 2)
    across, down = (steps[:, : math.ceil(far)] for steps in _rays(math.ceil(math.hypot(height, width))))
    columns, rows = np.floor(x + across).astype(np.intp), np.floor(y + down).astype(np.intp)
    within = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    met = outline[np.where(within, rows, 0), np.where(within, columns, 0)] & within
    crossings = np.count_nonzero(met[:, 1:] & ~met[:, :-1], axis=1)
    return bool(np.count_nonzero(crossings % 2) * 2 > _RAYS)


@lru_cache(maxsize=8)
def _rays(length: int) -> tuple[Floats, Floats]:
    """How far across and down each step of each ray leads, (64, length)."""
    turns = (np.arange(_RAYS) + 0.5) * (2 * math.pi / _RAYS)
    steps = np.arange(length)
    return np.outer(np.cos(turns), steps), np.outer(np.sin(turns), steps)
