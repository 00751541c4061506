"""Makes puzzles: everything follows from a seed and the puzzle's number.

Two polygons with flowers are laid out (types 1 to 3), or two rows of three circles with dots (types 4 to 6). Only
correctly rounded operations (+ − × ÷ and comparisons, float64) decide anything; sines and cosines are rounded before
they are used: so polygons and packed discs are the same on every CPU. Points are arrays of x and y.

The six templates stand here byte for byte as the published CSV writes them, slips of grammar included (C-VQA, Table 2).
How options are drawn is recovered from the published 6,000 lists; the paper says only that they are random.
"""

import math
import random
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cfeval.core.sampling import derive_seed
from cfeval.cvqa.records import LETTERS, Choices, Question
from cfeval.cvqa.synthetic.drawing import DESIGNS
from cfeval.cvqa.synthetic.records import (
    CIRCLE_LINE,
    CIRCLE_RADII,
    DOT_RADIUS,
    FLOWER_TYPES,
    GAP,
    ICON_RADIUS,
    LINE,
    POLYGON_COLORS,
    REGIONS,
    SIZE,
    Circle,
    Dot,
    DotScene,
    FlowerScene,
    Icon,
    Point,
    Polygon,
    PolygonColor,
    Puzzle,
    PuzzleType,
    RegionName,
    scaled,
)

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Places = dict[RegionName, list[tuple[int, int]]]
# Flowers in a region at most.
MOST_FLOWERS = 12
# How many flowers there is room for in a region inside the second polygon, in percent. In the published questions,
# regions outside of it hold U{1..12} flowers as far as a chi-square test can tell. In regions inside it, 10, 11 and
# 12 are rarer (79, 55 and 39 of 1,000 regions, where 83 are expected), as if no more had fitted in. The smaller of
# U{1..12} and such a bound gives both, and the means of all answers.
FLOWER_ROOM = {6: 5, 7: 7, 8: 9, 9: 10, 10: 12, 11: 10, 12: 47}
_STEP = 4
_HALF_WIDTHS = (106.0, 142.0)
_OFFSETS = (36.0, 68.0)
_CORNERS = (4, 5, 6, 7)
_TRIES = 3
CIRCLES = 6
# The least and the greatest number of dots in the circle that holds the most. In the published type 6 this maximum is
# uniform, and every other circle holds a uniform number below it. That gives the observed ranges and means of all
# three types, and differences between the two largest of 1 to 5 in 344, 113, 33, 8 and 2 of 500 questions, where 343,
# 118, 27, 8 and 4 are observed.
MOST_DOTS = (4, 8)
_ROWS, _COLUMNS = 2, 3
# How far a circle is off the middle of its place at most, across and down: less than would make the order unclear.
_SWAY = 5, 28


def draw_flower_counts(rng: random.Random) -> dict[RegionName, int]:
    """How many flowers each region holds."""
    drawn = {region: rng.randint(1, MOST_FLOWERS) for region in REGIONS}
    room = dict(zip(REGIONS, rng.choices(list(FLOWER_ROOM), list(FLOWER_ROOM.values()), k=len(REGIONS)), strict=True))
    return {region: min(count, room[region]) if region.endswith("in2") else count for region, count in drawn.items()}


def draw_colors(rng: random.Random) -> tuple[PolygonColor, PolygonColor]:
    """Two different ones."""
    first, second = rng.sample(POLYGON_COLORS, 2)
    return first, second


def lay_out_flowers(
    rng: random.Random,
    colors: tuple[PolygonColor, PolygonColor],
    counts: Mapping[RegionName, int],
    kinds: Sequence[str],
    size: int,
) -> FlowerScene:
    """Draw polygons and places until all fits.

    Twelve places are found in each region, however many of them are used: nothing in the shape of the polygons tells
    how many flowers there are.
    """
    while (outlines := _outlines(rng)) is None or (places := _places(rng, outlines)) is None:
        pass
    scale = size / SIZE
    first, second = (
        Polygon(color=color, vertices=tuple((round(x * scale, 2), round(y * scale, 2)) for x, y in outline))
        for color, outline in zip(colors, outlines, strict=True)
    )
    radius = scaled(ICON_RADIUS, size)
    flowers = {
        region: tuple(
            Icon(kind=rng.choice(kinds), x=round(x * scale), y=round(y * scale), radius=radius)
            for x, y in places[region][: counts[region]]
        )
        for region in REGIONS
    }
    return FlowerScene(polygons=(first, second), flowers=flowers)


def _outlines(rng: random.Random) -> tuple[tuple[Point, ...], tuple[Point, ...]] | None:
    """Two polygons on either side of the image's middle; None where one comes too near the border."""
    x, y = rng.uniform(*_OFFSETS), rng.uniform(-_OFFSETS[1], _OFFSETS[1])
    if rng.random() < 0.5:
        x, y = y, x
    middle, border = SIZE / 2, GAP + LINE / 2
    outlines = []
    for side in (1, -1):
        radii = rng.uniform(*_HALF_WIDTHS), rng.uniform(*_HALF_WIDTHS)
        outline = star(rng, (middle + side * x, middle + side * y), radii, rng.choice(_CORNERS))
        if not all(border <= value <= SIZE - border for vertex in outline for value in vertex):
            return None
        outlines.append(outline)
    first, second = outlines
    return first, second


def _places(rng: random.Random, outlines: tuple[tuple[Point, ...], tuple[Point, ...]]) -> Places | None:
    """Twelve places for flowers in every region; None where they are not found."""
    least = ICON_RADIUS + GAP
    first = least + rng.randrange(_STEP)
    grid = np.arange(first, SIZE - least + 1, _STEP, dtype=np.float64)
    x, y = (axis.ravel() for axis in np.meshgrid(grid, grid))
    (in1, far1), (in2, far2) = (clearance(outline, x, y) for outline in outlines)
    free = np.minimum(far1, far2) >= (least + LINE / 2) ** 2
    regions: dict[RegionName, Bools] = {
        "in1_in2": in1 & in2,
        "in1_out2": in1 & ~in2,
        "out1_in2": ~in1 & in2,
        "out1_out2": ~(in1 | in2),
    }
    places: Places = {}
    for region, mask in regions.items():
        inside = mask & free
        tries = (packed(rng, x[inside], y[inside], MOST_FLOWERS, 2 * ICON_RADIUS + GAP) for _ in range(_TRIES))
        place = next((taken for taken in tries if taken is not None), None)
        if place is None:
            return None
        places[region] = place
    return places


def draw_dot_counts(rng: random.Random) -> tuple[int, ...]:
    """How many dots each circle holds; one circle holds more than any other."""
    most = rng.randint(*MOST_DOTS)
    largest = rng.randrange(CIRCLES)
    return tuple(most if place == largest else rng.randint(1, most - 1) for place in range(CIRCLES))


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
    while (offsets := packed(rng, x[near], y[near], dots, 2 * DOT_RADIUS + GAP)) is None:
        pass
    return offsets


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


Four = tuple[int, int, int, int]
# A wrong option is at most so much below and above the right answer, and never negative.
BELOW, ABOVE = 5, 6
ORIGINAL: dict[PuzzleType, str] = {
    "abs_counting_1": "How many flowers are outside the {first} polygons?",
    "abs_counting_2": "How many flowers are inside the {first} polygons?",
    "abs_counting_3": "How many flowers are inside the {first} polygons?",
    "abs_counting_4": "How many dots are there in all the circles together?",
    "abs_counting_5": "How many dots are there in the top three circles together?",
    "abs_counting_6": "How many dots do a circle contain at most?",
}
COUNTERFACTUAL: dict[PuzzleType, str] = {
    "abs_counting_1": "How many flowers would be outside the {first} polygons if all polygons were {first}?",
    "abs_counting_2": (
        "How many flowers would be inside {first} polygons if we removed {removed} flowers in {first} polygons?"
    ),
    "abs_counting_3": (
        "How many flowers would be inside {first} polygons if all flowers in {second} polygons were removed?"
    ),
    "abs_counting_4": (
        "How many dots would there be in all the circles together if {removed} dots were removed from the circles?"
    ),
    "abs_counting_5": (
        "How many dots would there be in the top three circles together "
        "if the two rightmost circles and dots in them were removed from the circles?"
    ),
    "abs_counting_6": (
        "How many dots would a circle contain at most if one of the circles with most dots were removed?"
    ),
}


def make_puzzle(
    seed: int, number: int, kind: PuzzleType, size: int = SIZE, icons: Sequence[str] = tuple(DESIGNS)
) -> Puzzle:
    """A puzzle.

    Args:
        seed: that of the whole set.
        number: of the puzzle, from 1; numbers are independent of each other.
        kind: its template.
        size: width and height of the image, pixels; the same puzzle is drawn larger or smaller.
        icons: the names of the flowers there are.
    """
    rng = random.Random(derive_seed(seed, "puzzle", number))
    if kind in FLOWER_TYPES:
        flower_counts = draw_flower_counts(rng)
        colors = draw_colors(rng)
        original, after = (flower_answer(kind, flower_counts, changed) for changed in (False, True))
    else:
        dot_counts = draw_dot_counts(rng)
        original, after = (dot_answer(kind, dot_counts, changed) for changed in (False, True))
    removed = rng.randint(1, original) if kind in ("abs_counting_2", "abs_counting_4") else None
    counterfactual = original - removed if removed else after
    options = draw_options(rng, original), draw_options(rng, counterfactual)
    scene: FlowerScene | DotScene
    if kind in FLOWER_TYPES:
        scene = lay_out_flowers(rng, colors, flower_counts, icons, size)
        named: tuple[PolygonColor, ...] = colors if kind == "abs_counting_3" else colors[:1]
    else:
        first, second, third, fourth, fifth, sixth = (
            _circle(rng, place, count, size) for place, count in enumerate(dot_counts)
        )
        scene, named = DotScene(circles=(first, second, third, fourth, fifth, sixth)), ()
    return Puzzle(
        number=number,
        type=kind,
        size=size,
        scene=scene,
        colors=named,
        removed=removed,
        original=original,
        counterfactual=counterfactual,
        original_options=options[0],
        counterfactual_options=options[1],
    )


def flower_answer(kind: PuzzleType, counts: Mapping[RegionName, int], changed: bool = False) -> int:
    """The answer to a question about flowers, before flowers are removed; the first polygon's color is asked about."""
    if kind == "abs_counting_1":
        return counts["out1_out2"] + (0 if changed else counts["out1_in2"])
    return counts["in1_out2"] + (0 if changed else counts["in1_in2"])


def dot_answer(kind: PuzzleType, counts: Sequence[int], changed: bool = False) -> int:
    """The answer to a question about dots, before dots are removed."""
    if kind == "abs_counting_4":
        return sum(counts)
    if kind == "abs_counting_5":  # the two rightmost circles are the third of the top row and the third of the other
        return sum(counts[:2] if changed else counts[:3])
    return sorted(counts)[-2 if changed else -1]


def draw_options(rng: random.Random, right: int) -> Four:
    """The answer and three different wrong ones, shuffled."""
    wrong = [value for value in range(max(0, right - BELOW), right + ABOVE + 1) if value != right]
    first, second, third, fourth = rng.sample([right, *rng.sample(wrong, 3)], 4)
    return first, second, third, fourth


def letter_of(options: Sequence[int], right: int) -> str:
    """The letter that the right answer has among the options."""
    return LETTERS[options.index(right)]


def original_of(puzzle: Puzzle) -> Question:
    """The question about the image as it is, with its options; the answer is a letter."""
    return _question(puzzle, ORIGINAL, puzzle.original_options, puzzle.original)


def counterfactual_of(puzzle: Puzzle) -> Question:
    """The question under a counterfactual presupposition, likewise."""
    return _question(puzzle, COUNTERFACTUAL, puzzle.counterfactual_options, puzzle.counterfactual)


def _question(puzzle: Puzzle, templates: dict[PuzzleType, str], options: Four, right: int) -> Question:
    first, second = (*puzzle.colors, "", "")[:2]
    stem = templates[puzzle.type].format(first=first, second=second, removed=puzzle.removed)
    a, b, c, d = map(str, options)
    return Question(question=Choices(stem, (a, b, c, d)).text(), answer=letter_of(options, right))
