"""Polygons and packed discs, the same on every CPU.

Only correctly rounded operations (+ − × ÷ and comparisons, float64) decide anything; sines and cosines are rounded
before they are used. Points are arrays of x and y.
"""

import math
import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cfeval.records.puzzles import Point

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def star(rng: random.Random, centre: Point, radii: Point, corners: int) -> tuple[Point, ...]:
    """A random polygon that can be seen whole from its centre, its vertices on whole pixels.

    Args:
        rng: draws the angles between neighbouring vertices and the distances from the centre.
        centre: x and y, pixels.
        radii: half its width and height, about; a vertex is nearer or farther by 18 % at most.
        corners: the number of vertices, four at least: so no two neighbours are half a turn apart, and no sides cross.
    """
    gaps = [rng.uniform(0.7, 1.3) for _ in range(corners)]
    angle = rng.uniform(0, 2 * math.pi)
    vertices = []
    for gap in gaps:
        far = rng.uniform(0.82, 1.18)
        x = centre[0] + radii[0] * far * round(math.cos(angle), 9)
        y = centre[1] + radii[1] * far * round(math.sin(angle), 9)
        vertices.append((float(round(x)), float(round(y))))
        angle += 2 * math.pi * gap / sum(gaps)
    return tuple(vertices)


def clearance(vertices: Sequence[Point], x: Floats, y: Floats) -> tuple[Bools, Floats]:
    """Whether points lie in a polygon (even-odd rule), and the square of their distance from its edges."""
    inside = np.zeros(x.shape, dtype=bool)
    squared = np.full(x.shape, np.inf)
    for (x1, y1), (x2, y2) in zip(vertices, (*vertices[1:], vertices[0]), strict=True):
        dx, dy = x2 - x1, y2 - y1
        along = ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy)
        along = np.minimum(np.maximum(along, 0), 1)
        off_x, off_y = x - x1 - along * dx, y - y1 - along * dy
        squared = np.minimum(squared, off_x * off_x + off_y * off_y)
        if dy:
            inside ^= ((y1 <= y) != (y2 <= y)) & (x < x1 + (y - y1) * (dx / dy))
    return inside, squared


def packed(rng: random.Random, x: Floats, y: Floats, count: int, apart: float) -> list[tuple[int, int]] | None:
    """So many of the points, each drawn uniformly among those at least `apart` from all drawn before.

    None where they run out. The points are on whole pixels.
    """
    taken: list[tuple[int, int]] = []
    while len(taken) < count and len(x):
        pick = rng.randrange(len(x))
        here_x, here_y = x[pick], y[pick]
        taken.append((int(here_x), int(here_y)))
        free = (x - here_x) ** 2 + (y - here_y) ** 2 >= apart * apart
        x, y = x[free], y[free]
    return taken if len(taken) == count else None
