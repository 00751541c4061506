"""How puzzles look: colors, and lengths in pixels of a picture of 336 × 336.

None of this is in the paper or its repository, which give neither picture size nor scale; it is our choice.
"""

from cfeval.records.puzzles import PolygonColor

Rgb = tuple[int, int, int]

SIZE = 336
"""The side of a picture unless another is asked for; all lengths below are for this one, and grow with it."""
LEAST_SIZE, GREATEST_SIZE = 224, 2048
"""Smaller, rounding to whole pixels would eat up the gaps."""
BACKGROUND: Rgb = (255, 255, 255)
POLYGON_RGB: dict[PolygonColor, Rgb] = {
    "purple": (128, 0, 160),
    "red": (225, 0, 0),
    "black": (0, 0, 0),
    "orange": (255, 130, 0),
    "green": (0, 150, 0),
    "yellow": (255, 215, 0),
    "blue": (0, 60, 255),
    "pink": (255, 105, 180),
}
FILL = 8
"""Percent of its color with which a polygon tints what is inside; both tints add up where two overlap."""
LINE = 5
"""Width of a polygon's outline, half of it on either side of the edge."""
GAP = 3
"""Least distance between two things that are drawn, and between them and the border."""
ICON_RADIUS = 11
CIRCLE_RADII = (40, 46)
"""The least and the greatest radius of a circle, its line included."""
CIRCLE_LINE = 3
CIRCLE_RGB: Rgb = (70, 78, 96)
CIRCLE_FILL: Rgb = (246, 247, 250)
DOT_RADIUS = 6
DOT_RGB: Rgb = (24, 92, 168)


def scaled(length: float, size: int) -> int:
    """A length in pixels of a picture of this size, rounded down, at least one."""
    return max(1, int(length * size / SIZE))


def tinted(colors: tuple[PolygonColor, ...]) -> Rgb:
    """The background inside polygons of these colors, one over the other."""
    red, green, blue = BACKGROUND
    for color in colors:
        above = POLYGON_RGB[color]
        red, green, blue = (
            ((100 - FILL) * below + FILL * over) // 100 for below, over in zip((red, green, blue), above, strict=True)
        )
    return red, green, blue
