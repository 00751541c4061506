"""Records of synthetic puzzles (C-VQA, Section 3.3): everything that is drawn, where, how it looks, and what is asked.

Coordinates are in pixels of the image, from its top left corner; y points down. Pixel (column, row) covers the square
from (column, row) to (column + 1, row + 1). Colors, and lengths in pixels of an image of 336 × 336, are our choice:
the paper and its repository give neither image size nor scale.
"""

from typing import Literal, Self, get_args

from pydantic import Field, model_validator

from cfeval.core.records import Record

PolygonColor = Literal["purple", "red", "black", "orange", "green", "yellow", "blue", "pink"]
POLYGON_COLORS: tuple[PolygonColor, ...] = get_args(PolygonColor)
PuzzleType = Literal[
    "abs_counting_1", "abs_counting_2", "abs_counting_3", "abs_counting_4", "abs_counting_5", "abs_counting_6"
]
PUZZLE_TYPES: tuple[PuzzleType, ...] = get_args(PuzzleType)
# The templates about flowers and polygons; the other three are about dots in circles.
FLOWER_TYPES: tuple[PuzzleType, ...] = PUZZLE_TYPES[:3]
RegionName = Literal["in1_in2", "in1_out2", "out1_in2", "out1_out2"]
# The parts into which two polygons divide the image: inside or outside the first and the second.
REGIONS: tuple[RegionName, ...] = get_args(RegionName)
# x and y, pixels.
Point = tuple[float, float]
Rgb = tuple[int, int, int]
# The side of an image unless another is asked for; all lengths below are for this one, and grow with it.
SIZE = 336
# Smaller, rounding to whole pixels would eat up the gaps.
LEAST_SIZE, GREATEST_SIZE = 224, 2048
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
# Percent of its color with which a polygon tints what is inside; both tints add up where two overlap.
FILL = 8
# Width of a polygon's outline, half of it on either side of the edge.
LINE = 5
# Least distance between two things that are drawn, and between them and the border.
GAP = 3
ICON_RADIUS = 11
# The least and the greatest radius of a circle, its line included.
CIRCLE_RADII = (40, 46)
CIRCLE_LINE = 3
CIRCLE_RGB: Rgb = (70, 78, 96)
CIRCLE_FILL: Rgb = (246, 247, 250)
DOT_RADIUS = 6
DOT_RGB: Rgb = (24, 92, 168)


class Polygon(Record):
    """The outline of a simple polygon; the last vertex is joined to the first."""

    color: PolygonColor
    vertices: tuple[Point, ...] = Field(min_length=3)


class Icon(Record):
    """A flower: what of it is drawn lies within a circle. `kind` names its design, or the file of a user's folder."""

    kind: str
    x: int
    y: int
    radius: int = Field(gt=0)


class Dot(Record):
    """A filled disc."""

    x: int
    y: int
    radius: int = Field(gt=0)


class Circle(Record):
    """A circle with dots in it; its line lies within the radius."""

    x: int
    y: int
    radius: int = Field(gt=0)
    dots: tuple[Dot, ...] = Field(min_length=1)


class FlowerScene(Record):
    """Two polygons of different colors, and flowers by the region that they lie in."""

    polygons: tuple[Polygon, Polygon]
    flowers: dict[RegionName, tuple[Icon, ...]]

    def counts(self) -> dict[str, int]:
        """The number of flowers in every region."""
        return {region: len(self.flowers[region]) for region in REGIONS}


class DotScene(Record):
    """Six circles, the top row from left to right, then the bottom row."""

    circles: tuple[Circle, Circle, Circle, Circle, Circle, Circle]

    def counts(self) -> dict[str, int]:
        """The number of dots in every circle."""
        return {f"circle_{number}": len(circle.dots) for number, circle in enumerate(self.circles, start=1)}


class Puzzle(Record):
    """An image and two questions about it.

    `colors` are those that the questions name, and `removed` is the number that they name, where they do.
    `original_options` and `counterfactual_options` are the values of A to D, `original` and `counterfactual` the right
    ones.
    """

    number: int = Field(ge=1)
    type: PuzzleType
    size: int
    """Width and height, pixels."""
    scene: FlowerScene | DotScene
    colors: tuple[PolygonColor, ...] = ()
    removed: int | None = None
    original: int
    counterfactual: int
    original_options: tuple[int, int, int, int]
    counterfactual_options: tuple[int, int, int, int]

    @model_validator(mode="after")
    def _has_its_answers(self) -> Self:
        if self.original not in self.original_options or self.counterfactual not in self.counterfactual_options:
            raise ValueError("the right answer must be among the options")
        return self


class PuzzleTruth(Record):
    """What lies beside a puzzle's image: how many there are of what, and the whole puzzle."""

    counts: dict[str, int]
    puzzle: Puzzle


def scaled(length: float, size: int) -> int:
    """A length in pixels of an image of this size, rounded down, at least one."""
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
