"""Puzzles: their truth, counted again from geometry and from pixels; nothing touches, nothing is clipped."""

import hashlib
import io
import itertools
import math

import numpy as np
import PIL.Image
import pytest
from scipy import ndimage

from cfeval.cvqa.synthetic.drawing import draw_puzzle, png_of
from cfeval.cvqa.synthetic.puzzles import make_puzzle
from cfeval.cvqa.synthetic.records import (
    BACKGROUND,
    CIRCLE_LINE,
    DOT_RGB,
    FLOWER_TYPES,
    LINE,
    POLYGON_RGB,
    PUZZLE_TYPES,
    REGIONS,
    SIZE,
    DotScene,
    FlowerScene,
    Puzzle,
    PuzzleType,
    scaled,
    tinted,
)
from tests.cvqa.synthetic.puzzle_geometry import distance, simple, winding
from tests.slow import first_fast

SEED = 20
DOT_TYPES = PUZZLE_TYPES[3:]
SIZES = (224, SIZE, 500)


def flower_scenes(size: int = SIZE, count: int = 60) -> list[FlowerScene]:
    made = (make_puzzle(SEED, number, FLOWER_TYPES[number % 3], size) for number in range(1, count + 1))
    return [puzzle.scene for puzzle in made if isinstance(puzzle.scene, FlowerScene)]


def dot_scenes(size: int = SIZE, count: int = 150) -> list[DotScene]:
    made = (make_puzzle(SEED, number, DOT_TYPES[number % 3], size) for number in range(1, count + 1))
    return [puzzle.scene for puzzle in made if isinstance(puzzle.scene, DotScene)]


@pytest.mark.slow
def test_every_flower_lies_in_the_region_that_it_is_filed_under() -> None:
    for scene in flower_scenes():
        for region in REGIONS:
            for icon in scene.flowers[region]:
                inside = [abs(winding(polygon.vertices, icon.x, icon.y)) == 1 for polygon in scene.polygons]
                assert region == "_".join(f"{'in' if there else 'out'}{n}" for n, there in enumerate(inside, start=1))


@pytest.mark.parametrize("size", first_fast(SIZES, 1))
def test_no_flower_touches_an_edge_another_flower_or_the_border(size: int) -> None:
    half = scaled(LINE, size) / 2
    for scene in flower_scenes(size, 30):
        icons = [icon for region in REGIONS for icon in scene.flowers[region]]
        for icon in icons:
            assert all(distance(polygon.vertices, icon.x, icon.y) > icon.radius + half for polygon in scene.polygons)
            assert all(icon.radius < value < size - icon.radius for value in (icon.x, icon.y))
        for one, other in itertools.combinations(icons, 2):
            assert math.dist((one.x, one.y), (other.x, other.y)) > one.radius + other.radius


@pytest.mark.slow
def test_polygons_have_different_colors_do_not_cross_themselves_and_are_not_clipped() -> None:
    for scene in flower_scenes():
        assert len({polygon.color for polygon in scene.polygons}) == 2
        for polygon in scene.polygons:
            assert simple(polygon.vertices)
            assert all(LINE / 2 < value < SIZE - LINE / 2 for vertex in polygon.vertices for value in vertex)


@pytest.mark.parametrize("size", SIZES)
def test_no_circle_is_clipped_or_touches_another_and_no_dot_touches_a_line_or_another_dot(size: int) -> None:
    line = scaled(CIRCLE_LINE, size)
    for scene in dot_scenes(size, 50):
        for circle in scene.circles:
            assert all(circle.radius < value < size - circle.radius for value in (circle.x, circle.y))
            for dot in circle.dots:
                off = math.dist((dot.x, dot.y), (circle.x, circle.y))
                assert off + dot.radius < circle.radius - line
            for one, other in itertools.combinations(circle.dots, 2):
                assert math.dist((one.x, one.y), (other.x, other.y)) > one.radius + other.radius
        for one, other in itertools.combinations(scene.circles, 2):
            assert math.dist((one.x, one.y), (other.x, other.y)) > one.radius + other.radius


def test_the_top_three_and_the_two_rightmost_circles_are_told_apart_at_a_glance() -> None:
    for scene in dot_scenes():
        by_height = sorted(scene.circles, key=lambda circle: circle.y)
        assert set(map(id, by_height[:3])) == set(map(id, scene.circles[:3]))
        assert by_height[3].y - by_height[2].y > SIZE / 4
        by_x = sorted(scene.circles, key=lambda circle: circle.x)
        assert by_x[4].x - by_x[3].x > SIZE / 4
        assert {id(circle) for circle in by_x[4:]} == {id(scene.circles[2]), id(scene.circles[5])}


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_dots_counted_in_the_pixels_are_those_of_the_record(size: int) -> None:
    for number in range(1, 13):
        puzzle = make_puzzle(SEED, number, "abs_counting_4", size)
        pixels = np.asarray(draw_puzzle(puzzle)).astype(int)
        labels, found = ndimage.label((np.abs(pixels - DOT_RGB) < 40).all(axis=2))
        middles = ndimage.center_of_mass(labels > 0, labels, range(1, found + 1))
        assert found == puzzle.original
        assert isinstance(puzzle.scene, DotScene)
        for circle in puzzle.scene.circles:
            inside = [1 for y, x in middles if math.dist((x, y), (circle.x, circle.y)) < circle.radius]
            assert len(inside) == len(circle.dots)


@pytest.mark.slow
def test_flowers_counted_in_the_pixels_are_those_of_the_record() -> None:
    """What is neither a background nor joined to an outline is a flower; its middle's background tells the region."""
    for number in range(1, 25):
        puzzle = make_puzzle(SEED, number, "abs_counting_3")
        assert isinstance(puzzle.scene, FlowerScene)
        pixels = np.asarray(draw_puzzle(puzzle))
        first, second = (polygon.color for polygon in puzzle.scene.polygons)
        grounds = {"in1_in2": (first, second), "in1_out2": (first,), "out1_in2": (second,), "out1_out2": ()}
        ground = {region: (pixels == tinted(colors)).all(axis=2) for region, colors in grounds.items()}
        assert tinted(()) == BACKGROUND
        things, found = ndimage.label(~np.logical_or.reduce(list(ground.values())), np.ones((3, 3)))
        small = [
            box for box in ndimage.find_objects(things, found) if max(part.stop - part.start for part in box) <= 24
        ]
        around = [
            (slice(max(0, rows.start - 2), rows.stop + 2), slice(max(0, cols.start - 2), cols.stop + 2))
            for rows, cols in small
        ]
        where = [max(ground, key=lambda region: int(ground[region][box].sum())) for box in around]
        assert {region: where.count(region) for region in REGIONS} == puzzle.scene.counts()


def test_outlines_have_the_colors_that_the_questions_name() -> None:
    for scene in flower_scenes(count=12):
        puzzle = make_puzzle(SEED, 1, "abs_counting_1").model_copy(update={"scene": scene})
        pixels = np.asarray(draw_puzzle(puzzle))
        for polygon in scene.polygons:
            rgb = POLYGON_RGB[polygon.color]
            (x1, y1), (x2, y2) = polygon.vertices[:2]
            along = [pixels[int(y1 + (y2 - y1) * t), int(x1 + (x2 - x1) * t)] for t in (0.2, 0.4, 0.5, 0.6, 0.8)]
            assert sum(tuple(pixel) == rgb for pixel in along) >= 3  # the other outline may cross this one


def answers(puzzle: Puzzle) -> tuple[int, int]:
    """Both answers, read off the scene by the wording of the template."""
    scene = puzzle.scene
    if isinstance(scene, FlowerScene):
        one = scene.flowers
        outside = [*one["out1_in2"], *one["out1_out2"]]
        inside = [*one["in1_in2"], *one["in1_out2"]]
        if puzzle.type == "abs_counting_1":
            return len(outside), len(one["out1_out2"])
        gone = puzzle.removed if puzzle.type == "abs_counting_2" else len(one["in1_in2"])
        return len(inside), len(inside) - (gone or 0)
    top, held = scene.circles[:3], sorted(len(circle.dots) for circle in scene.circles)
    if puzzle.type == "abs_counting_4":
        return sum(held), sum(held) - (puzzle.removed or 0)
    if puzzle.type == "abs_counting_5":
        rightmost = max(top, key=lambda circle: circle.x)
        return sum(len(c.dots) for c in top), sum(len(c.dots) for c in top if c is not rightmost)
    return held[-1], held[-2]


@pytest.mark.parametrize("kind", first_fast(PUZZLE_TYPES, 2))
def test_both_answers_follow_from_the_scene(kind: PuzzleType) -> None:
    for number in range(1, 26):
        puzzle = make_puzzle(SEED, number, kind)
        assert (puzzle.original, puzzle.counterfactual) == answers(puzzle)


@pytest.mark.parametrize("kind", ["abs_counting_1", "abs_counting_2", "abs_counting_3"])
def test_the_first_polygon_has_the_color_that_is_asked_about(kind: PuzzleType) -> None:
    for number in range(1, 11):
        puzzle = make_puzzle(SEED, number, kind)
        assert isinstance(puzzle.scene, FlowerScene)
        drawn = tuple(polygon.color for polygon in puzzle.scene.polygons)
        assert puzzle.colors == (drawn if kind == "abs_counting_3" else drawn[:1])


def test_the_same_seed_and_number_give_the_same_record_everywhere() -> None:
    lines = "".join(make_puzzle(3, number, kind).model_dump_json() for number, kind in enumerate(PUZZLE_TYPES, start=1))
    assert (
        hashlib.sha256(lines.encode()).hexdigest() == "8f02a5cab80e5669a1f5b398446efdcf85663283195f6bdce58f4cd1682eb6e3"
    )
    assert make_puzzle(3, 1, "abs_counting_1") != make_puzzle(4, 1, "abs_counting_1")


@pytest.mark.parametrize("kind", ["abs_counting_1", "abs_counting_6"])
def test_an_image_is_drawn_the_same_twice_and_is_a_png_of_its_size(kind: PuzzleType) -> None:
    puzzle = make_puzzle(SEED, 5, kind, 300)
    assert png_of(puzzle) == png_of(puzzle)
    with PIL.Image.open(io.BytesIO(png_of(puzzle))) as image:
        assert (image.format, image.mode, image.size) == ("PNG", "RGB", (300, 300))
        assert np.array_equal(np.asarray(image), np.asarray(draw_puzzle(puzzle)))


def test_a_puzzle_is_the_same_at_another_size_but_for_its_lengths() -> None:
    for kind in ("abs_counting_2", "abs_counting_5"):
        small, large = (make_puzzle(SEED, 8, kind, size) for size in (SIZE, 2 * SIZE))
        assert small.scene.counts() == large.scene.counts()
        assert small.original_options == large.original_options
        if isinstance(small.scene, FlowerScene) and isinstance(large.scene, FlowerScene):
            assert [(2 * x, 2 * y) for x, y in small.scene.polygons[0].vertices] == list(
                large.scene.polygons[0].vertices
            )


def test_a_record_survives_json_and_draws_the_same() -> None:
    for kind in ("abs_counting_3", "abs_counting_6"):
        puzzle = make_puzzle(SEED, 2, kind)
        again = Puzzle.model_validate_json(puzzle.model_dump_json())
        assert again == puzzle
        assert png_of(again) == png_of(puzzle)
