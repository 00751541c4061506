"""Lays out the puzzles about dots (types 4 to 6): two rows of three circles, with dots in them."""

import random
from collections.abc import Sequence

import numpy as np

from cfeval.records.puzzles import Circle, Dot, DotScene
from cfeval.world.puzzles.geometry import packed
from cfeval.world.puzzles.look import CIRCLE_LINE, CIRCLE_RADII, DOT_RADIUS, GAP, SIZE, scaled

CIRCLES = 6
MAXIMA = (4, 8)
"""The least and the greatest number of dots in the circle that holds the most.

In the published type 6 this maximum is uniform, and every other circle holds a uniform number below it. That gives the
observed ranges and means of all three types, and differences between the two largest of 1 to 5 in 344, 113, 33, 8 and 2
of 500 questions, where 343, 118, 27, 8 and 4 are observed.
"""
_ROWS, _COLUMNS = 2, 3
_SWAY = 5, 28
"""How far a circle is off the middle of its place at most, across and down: less than would make the order unclear."""


def draw_counts(rng: random.Random) -> tuple[int, ...]:
    """How many dots each circle holds; one circle holds more than any other."""
    most = rng.randint(*MAXIMA)
    largest = rng.randrange(CIRCLES)
    return tuple(most if place == largest else rng.randint(1, most - 1) for place in range(CIRCLES))


def lay_out(rng: random.Random, counts: Sequence[int], size: int) -> DotScene:
    """Draw circles, each in a place of its own, and dots in them."""
    first, second, third, fourth, fifth, sixth = (
        _circle(rng, place, count, size) for place, count in enumerate(counts)
    )
    return DotScene(circles=(first, second, third, fourth, fifth, sixth))


def _circle(rng: random.Random, place: int, dots: int, size: int) -> Circle:
    row, column = divmod(place, _COLUMNS)
    radius = rng.randint(*CIRCLE_RADII)
    x = SIZE * (2 * column + 1) // (2 * _COLUMNS) + rng.randint(-_SWAY[0], _SWAY[0])
    y = SIZE * (2 * row + 1) // (2 * _ROWS) + rng.randint(-_SWAY[1], _SWAY[1])
    scale = size / SIZE
    small = scaled(DOT_RADIUS, size)
    middle_x, middle_y = round(x * scale), round(y * scale)
    return Circle(
        x=middle_x,
        y=middle_y,
        radius=round(radius * scale),
        dots=tuple(
            Dot(x=middle_x + round(dx * scale), y=middle_y + round(dy * scale), radius=small)
            for dx, dy in _offsets(rng, radius, dots)
        ),
    )


def _offsets(rng: random.Random, radius: int, dots: int) -> list[tuple[int, int]]:
    """Places of dots from the centre of a circle: off its line, and off each other."""
    reach = radius - CIRCLE_LINE - GAP - DOT_RADIUS
    line = np.arange(-reach, reach + 1, dtype=np.float64)
    x, y = (axis.ravel() for axis in np.meshgrid(line, line))
    near = x * x + y * y <= reach * reach
    while (found := packed(rng, x[near], y[near], dots, 2 * DOT_RADIUS + GAP)) is None:
        pass
    return found
