"""Geometry done anew, in plain Python, to check that of the puzzles."""

import math
from collections.abc import Sequence

from cfeval.cvqa.synthetic.records import Point


def winding(vertices: Sequence[Point], x: float, y: float) -> int:
    """How often a polygon goes round a point: the angles under which its sides are seen, added up."""
    total = 0.0
    for (x1, y1), (x2, y2) in sides(vertices):
        ax, ay, bx, by = x1 - x, y1 - y, x2 - x, y2 - y
        total += math.atan2(ax * by - ay * bx, ax * bx + ay * by)
    return round(total / (2 * math.pi))


def sides(vertices: Sequence[Point]) -> list[tuple[Point, Point]]:
    """The sides, as pairs of points."""
    return list(zip(vertices, (*vertices[1:], vertices[0]), strict=True))


def distance(vertices: Sequence[Point], x: float, y: float) -> float:
    """How far a point is from the nearest side."""
    return min(_to_side(start, end, (x, y)) for start, end in sides(vertices))


def _to_side(start: Point, end: Point, point: Point) -> float:
    length = math.dist(start, end)
    along = ((point[0] - start[0]) * (end[0] - start[0]) + (point[1] - start[1]) * (end[1] - start[1])) / length
    if along <= 0:
        return math.dist(start, point)
    if along >= length:
        return math.dist(end, point)
    return math.sqrt(max(0.0, math.dist(start, point) ** 2 - along**2))


def simple(vertices: Sequence[Point]) -> bool:
    """Whether no two sides of a polygon cross."""
    all_sides = sides(vertices)
    for place, first in enumerate(all_sides):
        for other in range(place + 2, len(all_sides)):
            if (other + 1) % len(all_sides) != place and _cross(first, all_sides[other]):
                return False
    return True


def _cross(first: tuple[Point, Point], second: tuple[Point, Point]) -> bool:
    (a, b), (c, d) = first, second
    return _turn(a, b, c) != _turn(a, b, d) and _turn(c, d, a) != _turn(c, d, b)


def _turn(a: Point, b: Point, c: Point) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0])
