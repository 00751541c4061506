"""The size that a picture is painted at: near its own shape, within limits, on the model's grid."""

import math
from itertools import product


def paint_size(size: tuple[int, int], least: int, most: int, grid: int) -> tuple[int, int]:
    """Width and height to paint at, multiples of `grid`.

    The picture is enlarged to `least` pixels or shrunk to `most`; of the four sizes on the grid around that, the one
    within `most` that keeps the shape best, and the largest of these.

    Args:
        size: width and height of the picture.
        least: pixels that a smaller picture is enlarged to.
        most: pixels that a larger picture is shrunk to.
        grid: side of a cell in pixels.
    """
    width, height = size
    area = min(max(width * height, least), most)
    scale = math.sqrt(area / (width * height))
    around = product(_around(width * scale, grid), _around(height * scale, grid))
    return min(around, key=lambda it: (it[0] * it[1] > most, _stretch(it, size), -it[0] * it[1]))


def _around(length: float, grid: int) -> tuple[int, int]:
    cells = length / grid
    return max(grid, math.floor(cells + 1e-6) * grid), max(grid, math.ceil(cells - 1e-6) * grid)


def _stretch(one: tuple[int, int], other: tuple[int, int]) -> float:
    """How far two shapes differ: the logarithm of the ratio of their aspect ratios, without sign."""
    return abs(math.log(one[0] * other[1] / (one[1] * other[0])))
