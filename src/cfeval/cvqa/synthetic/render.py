"""Draws puzzles, the same pixels on every CPU: whole coordinates on finer grids, averaged with whole numbers."""

import math
from functools import lru_cache

import numpy as np
import PIL.Image
from PIL import ImageDraw

from cfeval.core.images import Image
from cfeval.cvqa.synthetic.icons import Canvas, DrawnIcons, Icons
from cfeval.cvqa.synthetic.records import (
    BACKGROUND,
    CIRCLE_FILL,
    CIRCLE_LINE,
    CIRCLE_RGB,
    DOT_RGB,
    LINE,
    POLYGON_RGB,
    DotScene,
    FlowerScene,
    Point,
    Polygon,
    Puzzle,
    Rgb,
    scaled,
    tinted,
)

_FINER = 4


def draw_puzzle(puzzle: Puzzle, icons: Icons | None = None) -> PIL.Image.Image:
    """The image, RGB; `icons` are those that the puzzle was made with, the project's own by default."""
    image = PIL.Image.new("RGB", (puzzle.size, puzzle.size), BACKGROUND)
    if isinstance(puzzle.scene, FlowerScene):
        _draw_flowers(image, puzzle.scene, icons or DrawnIcons())
    else:
        _draw_dots(image, puzzle.scene)
    return image


def png_of(puzzle: Puzzle, icons: Icons | None = None) -> bytes:
    """The image as a PNG file, packed as every other image is."""
    return Image.from_pixels(np.asarray(draw_puzzle(puzzle, icons))).png


def _draw_flowers(image: PIL.Image.Image, scene: FlowerScene, icons: Icons) -> None:
    first, second = scene.polygons
    masks = [_inside(image.width, polygon) for polygon in scene.polygons]
    image.paste(tinted((first.color,)), mask=masks[0])
    image.paste(tinted((second.color,)), mask=masks[1])
    both = PIL.Image.composite(masks[0], PIL.Image.new("L", image.size), masks[1])
    image.paste(tinted((first.color, second.color)), mask=both)
    for polygon in scene.polygons:
        _outline(image, polygon)
    for flowers in scene.flowers.values():
        for icon in flowers:
            _stamp(image, icons.sprite(icon.kind, icon.radius), icon.x, icon.y)


def _inside(size: int, polygon: Polygon) -> PIL.Image.Image:
    """A mask with hard edges: the outline will cover them."""
    mask = PIL.Image.new("L", (size, size))
    ImageDraw.Draw(mask).polygon([(round(x), round(y)) for x, y in polygon.vertices], fill=255)
    return mask


def _outline(image: PIL.Image.Image, polygon: Polygon) -> None:
    """A smooth line with round corners, half of it on either side of the edges."""
    half = scaled(LINE, image.width) / 2
    left, top = (math.floor(min(axis) - half) for axis in zip(*polygon.vertices, strict=True))
    right, bottom = (math.ceil(max(axis) + half) for axis in zip(*polygon.vertices, strict=True))
    fine = PIL.Image.new("L", ((right - left) * _FINER, (bottom - top) * _FINER))
    pen = ImageDraw.Draw(fine)
    corners = [((x - left) * _FINER, (y - top) * _FINER) for x, y in polygon.vertices]
    for start, end in zip(corners, (*corners[1:], corners[0]), strict=True):
        pen.polygon(_stroke(start, end, half * _FINER), fill=255)
        x, y = start
        reach = half * _FINER
        pen.ellipse((round(x - reach), round(y - reach), round(x + reach) - 1, round(y + reach) - 1), fill=255)
    image.paste(POLYGON_RGB[polygon.color], (left, top), fine.reduce(_FINER))


def _stroke(start: Point, end: Point, half: float) -> list[tuple[int, int]]:
    """The corners of a straight line of some width."""
    (x1, y1), (x2, y2) = start, end
    dx, dy = x2 - x1, y2 - y1
    length = math.sqrt(dx * dx + dy * dy)
    u, v = -dy / length * half, dx / length * half
    return [(round(x), round(y)) for x, y in ((x1 + u, y1 + v), (x2 + u, y2 + v), (x2 - u, y2 - v), (x1 - u, y1 - v))]


def _draw_dots(image: PIL.Image.Image, scene: DotScene) -> None:
    line = scaled(CIRCLE_LINE, image.width)
    for circle in scene.circles:
        _stamp(image, _ring(circle.radius, line), circle.x, circle.y)
        for dot in circle.dots:
            _stamp(image, _disc(dot.radius, DOT_RGB), dot.x, dot.y)


def _stamp(image: PIL.Image.Image, sprite: PIL.Image.Image, x: int, y: int) -> None:
    image.paste(sprite, (x - sprite.width // 2, y - sprite.height // 2), sprite)


@lru_cache(maxsize=64)
def _ring(radius: int, line: int) -> PIL.Image.Image:
    canvas = Canvas(radius)
    canvas.disc(0, 0, 1, CIRCLE_RGB)
    canvas.disc(0, 0, 1 - line / radius, CIRCLE_FILL)
    return canvas.sprite()


@lru_cache(maxsize=64)
def _disc(radius: int, color: Rgb) -> PIL.Image.Image:
    canvas = Canvas(radius)
    canvas.disc(0, 0, 1, color)
    return canvas.sprite()
