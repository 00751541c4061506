"""Puzzles read off their pixels, against the records they were drawn from and against geometry."""

import math

import numpy as np
import numpy.typing as npt
import PIL.Image
import pytest
from PIL import ImageDraw

from cfeval.core.images import Image
from cfeval.cvqa.synthetic.drawing import png_of
from cfeval.cvqa.synthetic.puzzles import make_puzzle
from cfeval.cvqa.synthetic.records import (
    CIRCLE_LINE,
    CIRCLE_RGB,
    DOT_RGB,
    LINE,
    POLYGON_RGB,
    PUZZLE_TYPES,
    FlowerScene,
    Puzzle,
)
from cfeval_testbed.puzzles.recognition import Sight, Thing, see
from tests.slow import first_fast

Points = list[tuple[int, int]]


def counted(puzzle: Puzzle) -> dict[str, int]:
    """What is counted in the image of a puzzle, by the names that its record has for the places."""
    sight = see(Image(png_of(puzzle)).pixels)
    if not isinstance(puzzle.scene, FlowerScene):
        circles, dots = of(sight, "circle"), of(sight, "dot")
        assert len(sight.things) == len(circles) + len(dots)
        return {f"circle_{n}": sum(sight.holds(c, *dot.middle) for dot in dots) for n, c in enumerate(circles, 1)}
    polygons = {polygon.color: polygon for polygon in of(sight, "polygon")}
    assert len(sight.things) == len(polygons) + len(of(sight, "flower"))
    first, second = (polygons.pop(polygon.color) for polygon in puzzle.scene.polygons)
    assert not polygons
    counts = dict.fromkeys(puzzle.scene.counts(), 0)
    for flower in of(sight, "flower"):
        sides = ["in" if sight.holds(outer, *flower.middle) else "out" for outer in (first, second)]
        counts[f"{sides[0]}1_{sides[1]}2"] += 1
    return counts


def of(sight: Sight, kind: str) -> list[Thing]:
    return [thing for thing in sight.things if thing.kind == kind]


@pytest.mark.parametrize("size", first_fast([336, 224, 500], 1))
@pytest.mark.parametrize("kind", PUZZLE_TYPES)
def test_every_flower_and_dot_is_counted_where_it_is(kind: str, size: int) -> None:
    numbers = range(1, 9 if size == 336 else 3)
    puzzles = [make_puzzle(77, number, kind, size) for number in numbers]  # type: ignore[arg-type]
    assert [counted(puzzle) for puzzle in puzzles] == [puzzle.scene.counts() for puzzle in puzzles]


def drawn(**polygons: Points) -> npt.NDArray[np.uint8]:
    """Outlines on white without any tint, the later over the earlier."""
    image = PIL.Image.new("RGB", (336, 336), "white")
    pen = ImageDraw.Draw(image)
    for color, corners in polygons.items():
        pen.line([*corners, corners[0], corners[1]], POLYGON_RGB[color], LINE)  # type: ignore[index]
    return np.asarray(image)


def within(corners: Points, x: float, y: float) -> tuple[bool, float]:
    """Whether a point is in a polygon, by the sum of the angles under which edges are seen; its distance from them."""
    turned, nearest = 0.0, math.inf
    for (ax, ay), (bx, by) in zip(corners, [*corners[1:], corners[0]], strict=True):
        turn = math.atan2(by - y, bx - x) - math.atan2(ay - y, ax - x)
        turned += (turn + math.pi) % (2 * math.pi) - math.pi
        along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2)
        along = min(1.0, max(0.0, along))
        nearest = min(nearest, math.hypot(x - ax - along * (bx - ax), y - ay - along * (by - ay)))
    return abs(turned) > math.pi, nearest


@pytest.mark.parametrize(
    "red",
    [
        [(40, 40), (220, 50), (230, 220), (60, 210)],
        [(100, 101), (290, 108), (280, 300), (110, 290)],
        [(30, 160), (170, 30), (310, 160), (170, 200)],
        [(20, 20), (316, 20), (316, 316), (168, 60), (20, 316)],
    ],
    ids=["corner", "along the other's edge", "flat", "not convex"],
)
def test_an_outline_that_another_crosses_still_encloses_what_it_did(red: Points) -> None:
    black = [(100, 100), (300, 100), (300, 300), (100, 300)]
    sight = see(drawn(red=red, black=black))
    assert {thing.color for thing in sight.things} == {"red", "black"}
    for thing, corners in zip(of(sight, "polygon"), (red, black), strict=True):
        assert thing.color == ("red" if corners is red else "black")
        for x, y in np.random.default_rng(3).uniform(0, 336, (150, 2)).tolist():
            inside, distance = within(corners, x, y)
            if distance > 12:
                assert sight.holds(thing, x, y) == inside, (thing.color, x, y)


def test_a_flower_in_pieces_is_one_and_specks_are_none() -> None:
    pixels = drawn(red=[(40, 40), (220, 50), (230, 220), (60, 210)])
    pixels = pixels.copy()
    pixels[100:106, 100:118] = pixels[112:118, 100:118] = (200, 60, 90)
    pixels[150:152, 150:152] = (200, 60, 90)
    [flower] = of(see(pixels), "flower")
    assert flower.box == (100, 100, 118, 118)


def test_circles_come_row_by_row_and_an_empty_one_is_seen() -> None:
    image = PIL.Image.new("RGB", (336, 336), "white")
    pen = ImageDraw.Draw(image)
    for x, y, dots in ((270, 80, 1), (60, 100, 0), (65, 230, 2)):
        pen.ellipse((x - 42, y - 42, x + 42, y + 42), outline=CIRCLE_RGB, width=CIRCLE_LINE)
        for dot in range(dots):
            pen.ellipse((x + 20 * dot - 6, y - 6, x + 20 * dot + 6, y + 6), fill=DOT_RGB)
    sight = see(np.asarray(image))
    circles, dots_ = of(sight, "circle"), of(sight, "dot")
    assert [circle.middle for circle in circles] == [(60.5, 100.5), (270.5, 80.5), (65.5, 230.5)]
    assert [sum(sight.holds(circle, *dot.middle) for dot in dots_) for circle in circles] == [0, 1, 2]


def test_what_is_drawn_in_a_polygons_color_is_no_polygon() -> None:
    pixels = np.full((336, 336, 3), 255, dtype=np.uint8)
    for x in range(20, 300, 40):
        pixels[50:68, x : x + 18] = POLYGON_RGB["black"]
    assert {thing.kind for thing in see(pixels).things} == {"flower"}
    assert see(np.full((336, 336, 3), 255, dtype=np.uint8)).things == ()
