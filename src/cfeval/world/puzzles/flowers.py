"""Lays out the puzzles about flowers (types 1 to 3): two polygons, and flowers in the four regions that they make."""

import random
from collections.abc import Mapping, Sequence

import numpy as np

from cfeval.records.puzzles import (
    POLYGON_COLORS,
    REGIONS,
    FlowerScene,
    Icon,
    Point,
    Polygon,
    PolygonColor,
    RegionName,
)
from cfeval.world.puzzles.geometry import Bools, clearance, packed, star
from cfeval.world.puzzles.look import GAP, ICON_RADIUS, LINE, SIZE, scaled

MOST = 12
"""Flowers in a region at most."""
ROOM = {6: 5, 7: 7, 8: 9, 9: 10, 10: 12, 11: 10, 12: 47}
"""How many flowers there is room for in a region inside the second polygon, in percent.

In the published questions, regions outside of it hold U{1..12} flowers as far as a chi-square test can tell. In regions
inside it, 10, 11 and 12 are rarer (79, 55 and 39 of 1,000 regions, where 83 are expected), as if no more had fitted in.
The smaller of U{1..12} and such a bound gives both, and the means of all answers.
"""
_STEP = 4
_HALF_WIDTHS = (106.0, 142.0)
_OFFSETS = (36.0, 68.0)
_CORNERS = (4, 5, 6, 7)
_TRIES = 3

Places = dict[RegionName, list[tuple[int, int]]]


def draw_counts(rng: random.Random) -> dict[RegionName, int]:
    """How many flowers each region holds."""
    drawn = {region: rng.randint(1, MOST) for region in REGIONS}
    room = dict(zip(REGIONS, rng.choices(list(ROOM), list(ROOM.values()), k=len(REGIONS)), strict=True))
    return {region: min(count, room[region]) if region.endswith("in2") else count for region, count in drawn.items()}


def draw_colors(rng: random.Random) -> tuple[PolygonColor, PolygonColor]:
    """Two different ones."""
    first, second = rng.sample(POLYGON_COLORS, 2)
    return first, second


def lay_out(
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
    """Two polygons on either side of the picture's middle; None where one comes too near the border."""
    x, y = rng.uniform(*_OFFSETS), rng.uniform(-_OFFSETS[1], _OFFSETS[1])
    if rng.random() < 0.5:
        x, y = y, x
    middle, border = SIZE / 2, GAP + LINE / 2
    found = []
    for side in (1, -1):
        radii = rng.uniform(*_HALF_WIDTHS), rng.uniform(*_HALF_WIDTHS)
        outline = star(rng, (middle + side * x, middle + side * y), radii, rng.choice(_CORNERS))
        if not all(border <= value <= SIZE - border for vertex in outline for value in vertex):
            return None
        found.append(outline)
    first, second = found
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
        tries = (packed(rng, x[inside], y[inside], MOST, 2 * ICON_RADIUS + GAP) for _ in range(_TRIES))
        found = next((taken for taken in tries if taken is not None), None)
        if found is None:
            return None
        places[region] = found
    return places
