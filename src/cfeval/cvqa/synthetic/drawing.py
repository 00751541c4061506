"""Draws puzzles, the same pixels on every CPU: whole coordinates on finer grids, averaged with whole numbers.

The flowers are the project's own designs, or image files of a folder that the user names. They are drawn on a
transparent square in units of the icon's radius, larger, and made smaller for smooth edges. Dark rims set the designs
off from white.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
import PIL.Image
from PIL import ImageDraw

from cfeval.core.errors import InputError
from cfeval.core.images import MAX_PIXELS, Image
from cfeval.cvqa.synthetic.records import (
    BACKGROUND,
    CIRCLE_FILL,
    CIRCLE_LINE,
    CIRCLE_RGB,
    DOT_RGB,
    LINE,
    POLYGON_RGB,
    FlowerScene,
    Point,
    Polygon,
    Puzzle,
    Rgb,
    scaled,
    tinted,
)

SUFFIXES = {".png", ".jpg", ".jpeg"}
# A pixel all of whose channels are above belongs to the white around an icon, if it is joined to its border.
_WHITE = 235
# Pixels across that are kept of a larger icon: more than is ever drawn.
_HELD = 256
# Pixels of the large square for one of the icon, each way.
_FINER = 8
_GREEN: Rgb = (58, 140, 60)
_LEAF: Rgb = (94, 172, 84)
# The upper part of a tulip.
_CUP = ((-0.55, -0.15), (-0.52, -0.83), (-0.24, -0.55), (0.0, -0.97), (0.24, -0.55), (0.52, -0.83), (0.55, -0.15))


class Icons(Protocol):
    """Flowers that can be drawn."""

    @property
    def names(self) -> tuple[str, ...]:
        """What there is to choose from."""
        ...

    def sprite(self, name: str, radius: int) -> PIL.Image.Image:
        """A flower as RGBA, twice the radius wide and high; it is transparent outside the circle."""
        ...


def icons_of(folder: Path | None) -> Icons:
    """The flowers of a folder, or the project's own; InputError like `FolderIcons`."""
    return FolderIcons(folder) if folder else DrawnIcons()


class FolderIcons:
    """Image files (PNG or JPEG) in a folder and the folders in it, such as the flowers of Icons-50.

    Raises:
        InputError: one line: no such folder, no images in it, or one that cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; it should hold the flowers' image files (PNG or JPEG)")
        paths = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
        files = {path.relative_to(folder).as_posix(): path for path in paths if not path.name.startswith(".")}
        if not files:
            raise InputError(f"{folder}: holds no image file (PNG or JPEG), nor does any folder in it")
        self._files = dict(sorted(files.items()))
        self._cut = {name: _cut_out(path) for name, path in self._files.items()}
        self._sprites: dict[tuple[str, int], PIL.Image.Image] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The files, by their paths in the folder."""
        return tuple(self._files)

    def sprite(self, name: str, radius: int) -> PIL.Image.Image:
        """See `Icons.sprite`."""
        if (name, radius) not in self._sprites:
            # An icon at the size at which it is drawn; a mask keeps the resampled edge within the circle.
            icon = self._cut[name]
            small = icon.resize(
                (2 * radius, 2 * radius),
                PIL.Image.Resampling.BOX if icon.width > 8 * radius else PIL.Image.Resampling.BICUBIC,
            )
            mask = Canvas(radius)
            mask.disc(0, 0, 1, (255, 255, 255))
            alpha = np.minimum(np.asarray(small)[..., 3], np.asarray(mask.sprite())[..., 3])
            small.putalpha(PIL.Image.fromarray(alpha))
            self._sprites[name, radius] = small
        return self._sprites[name, radius]


def _cut_out(path: Path) -> PIL.Image.Image:
    """An icon without what is transparent or white around it, a square whose inscribed circle holds all of it."""
    try:
        with PIL.Image.open(path) as image:
            if image.width * image.height > MAX_PIXELS:
                raise InputError(f"{path}: over {MAX_PIXELS:,} pixels; make it smaller")
            pixels = np.array(image.convert("RGBA"))
    except (OSError, SyntaxError, ValueError, PIL.Image.DecompressionBombError) as error:
        raise InputError(f"{path}: not an image that can be read ({error}); take it out of the folder") from None
    # The white pixels that are joined to the border by white or transparent ones.
    from scipy import ndimage

    blank = (pixels[..., :3] > _WHITE).all(axis=2) | (pixels[..., 3] == 0)
    labels, _ = ndimage.label(np.pad(blank, 1, constant_values=True))
    pixels[np.asarray(labels[1:-1, 1:-1] == labels[0, 0]), 3] = 0
    rows, columns = np.nonzero(pixels[..., 3] > 0)
    if not len(rows):
        raise InputError(f"{path}: shows nothing but white or transparent pixels; take it out of the folder")
    y, x = (int(rows.min()) + int(rows.max()) + 1) / 2, (int(columns.min()) + int(columns.max()) + 1) / 2
    squared = (np.abs(rows + 0.5 - y) + 0.5) ** 2 + (np.abs(columns + 0.5 - x) + 0.5) ** 2
    reach = float(np.sqrt(squared.max()))
    box = tuple(round(value) for value in (x - reach, y - reach, x + reach, y + reach))
    icon = PIL.Image.fromarray(pixels).crop(box)  # type: ignore[arg-type]
    return icon if icon.width <= _HELD else icon.resize((_HELD, _HELD), PIL.Image.Resampling.BOX)


class Canvas:
    """The centre is (0, 0), y points down, and the icon's circle has radius 1."""

    def __init__(self, radius: int) -> None:
        self._half = radius * _FINER
        self._image = PIL.Image.new("RGBA", (2 * self._half, 2 * self._half), (0, 0, 0, 0))
        self._draw = ImageDraw.Draw(self._image)

    def sprite(self) -> PIL.Image.Image:
        """The icon at its own size, RGBA."""
        return self._image.reduce(_FINER)

    def disc(self, x: float, y: float, radius: float, color: Rgb) -> None:
        """A filled circle."""
        box = [self._at(value) for value in (x - radius, y - radius, x + radius, y + radius)]
        self._draw.ellipse((box[0], box[1], box[2] - 1, box[3] - 1), fill=(*color, 255))

    def shape(self, points: Sequence[Point], color: Rgb) -> None:
        """A filled polygon."""
        self._draw.polygon([(self._at(x), self._at(y)) for x, y in points], fill=(*color, 255))

    def petal(self, turn: float, near: float, far: float, width: float, color: Rgb) -> None:
        """An ellipse that points away from the centre.

        Args:
            turn: its direction, in whole turns clockwise from the top.
            near: how far from the centre it begins.
            far: how far from the centre it ends.
            width: half of its greatest width.
            color: of all of it.
        """
        middle, half = (near + far) / 2, (far - near) / 2
        cos, sin = _direction(turn)
        points = []
        for step in range(32):
            across, along = _direction(step / 32)
            u, v = width * across, middle + half * along
            points.append((v * sin + u * cos, -v * cos + u * sin))
        self.shape(points, color)

    def _at(self, value: float) -> int:
        return round(self._half * (1 + value))


def _direction(turn: float) -> tuple[float, float]:
    """The cosine and sine of so many whole turns, rounded so that every CPU has the same."""
    return round(math.cos(2 * math.pi * turn), 9), round(math.sin(2 * math.pi * turn), 9)


def _petals(canvas: Canvas, petals: int, far: float, width: float, color: Rgb, rim: Rgb, near: float = 0.1) -> None:
    for place in range(petals):
        canvas.petal(place / petals, near, far, width, rim)
        canvas.petal(place / petals, near + 0.07, far - 0.07, width - 0.07, color)


def _daisy(canvas: Canvas) -> None:
    _petals(canvas, 9, 0.97, 0.26, (255, 255, 255), (120, 134, 168))
    canvas.disc(0, 0, 0.34, (214, 150, 20))
    canvas.disc(0, 0, 0.27, (252, 204, 48))


def _sunflower(canvas: Canvas) -> None:
    _petals(canvas, 12, 0.97, 0.2, (252, 190, 20), (190, 116, 10), near=0.2)
    canvas.disc(0, 0, 0.5, (82, 46, 20))
    canvas.disc(0, 0, 0.36, (128, 76, 34))


def _cherry(canvas: Canvas) -> None:
    _petals(canvas, 5, 0.96, 0.42, (250, 184, 208), (196, 92, 138))
    _petals(canvas, 5, 0.5, 0.07, (214, 84, 132), (214, 84, 132))
    canvas.disc(0, 0, 0.16, (250, 226, 110))


def _rose(canvas: Canvas) -> None:
    for place in range(4):
        canvas.petal(place / 4 + 0.125, 0.3, 0.97, 0.24, _GREEN)
    canvas.disc(0, 0, 0.8, (140, 10, 38))
    canvas.disc(0, 0, 0.72, (214, 36, 66))
    canvas.disc(0.06, 0.06, 0.54, (140, 10, 38))
    canvas.disc(0.02, 0.1, 0.47, (228, 66, 92))
    canvas.disc(0.02, 0.02, 0.3, (140, 10, 38))
    canvas.disc(0.06, 0.06, 0.22, (240, 108, 128))


def _violet(canvas: Canvas) -> None:
    _petals(canvas, 6, 0.97, 0.34, (150, 108, 220), (76, 42, 140))
    canvas.disc(0, 0, 0.28, (76, 42, 140))
    canvas.disc(0, 0, 0.19, (252, 226, 90))


def _tulip(canvas: Canvas) -> None:
    canvas.shape([(-0.09, 0.2), (0.09, 0.2), (0.09, 0.96), (-0.09, 0.96)], _GREEN)
    canvas.shape([(0, 0.94), (-0.62, 0.28), (-0.2, 0.5), (0, 0.8)], _LEAF)
    canvas.shape([(0, 0.94), (0.62, 0.28), (0.2, 0.5), (0, 0.8)], _LEAF)
    for part, color in ((1.0, (192, 58, 20)), (0.82, (250, 124, 62))):
        canvas.disc(0, -0.18, 0.55 * part, color)
        canvas.shape([(part * x, part * (y + 0.18) - 0.18) for x, y in _CUP], color)


def _cornflower(canvas: Canvas) -> None:
    _petals(canvas, 8, 0.97, 0.24, (104, 160, 248), (30, 66, 160))
    canvas.disc(0, 0, 0.36, (30, 66, 160))
    canvas.disc(0, 0, 0.24, (214, 230, 255))


def _poppy(canvas: Canvas) -> None:
    _petals(canvas, 4, 0.96, 0.5, (238, 72, 44), (150, 22, 16), near=0)
    canvas.disc(0, 0, 0.27, (40, 30, 34))
    canvas.disc(0, 0, 0.12, (170, 190, 90))


# What draws a flower, by its name.
DESIGNS: dict[str, Callable[[Canvas], None]] = {
    "daisy": _daisy,
    "sunflower": _sunflower,
    "cherry": _cherry,
    "rose": _rose,
    "violet": _violet,
    "tulip": _tulip,
    "cornflower": _cornflower,
    "poppy": _poppy,
}


class DrawnIcons:
    """The project's own designs."""

    names = tuple(DESIGNS)

    def sprite(self, name: str, radius: int) -> PIL.Image.Image:
        """See `Icons.sprite`."""
        return _drawn_icon(name, radius)


@lru_cache(maxsize=64)
def _drawn_icon(name: str, radius: int) -> PIL.Image.Image:
    canvas = Canvas(radius)
    DESIGNS[name](canvas)
    return canvas.sprite()


_OUTLINE_FINER = 4


def draw_puzzle(puzzle: Puzzle, icons: Icons | None = None) -> PIL.Image.Image:
    """The image, RGB; `icons` are those that the puzzle was made with, the project's own by default."""
    image = PIL.Image.new("RGB", (puzzle.size, puzzle.size), BACKGROUND)
    if isinstance(puzzle.scene, FlowerScene):
        _draw_flowers(image, puzzle.scene, icons or DrawnIcons())
    else:
        line = scaled(CIRCLE_LINE, image.width)
        for circle in puzzle.scene.circles:
            _stamp(image, _ring(circle.radius, line), circle.x, circle.y)
            for dot in circle.dots:
                _stamp(image, _disc(dot.radius, DOT_RGB), dot.x, dot.y)
    return image


def png_of(puzzle: Puzzle, icons: Icons | None = None) -> bytes:
    """The image as a PNG file, packed as every other image is."""
    return Image.from_pixels(np.asarray(draw_puzzle(puzzle, icons))).png


def _draw_flowers(image: PIL.Image.Image, scene: FlowerScene, icons: Icons) -> None:
    first, second = scene.polygons
    masks = [_inside_mask(image.width, polygon) for polygon in scene.polygons]
    image.paste(tinted((first.color,)), mask=masks[0])
    image.paste(tinted((second.color,)), mask=masks[1])
    both = PIL.Image.composite(masks[0], PIL.Image.new("L", image.size), masks[1])
    image.paste(tinted((first.color, second.color)), mask=both)
    for polygon in scene.polygons:
        # A smooth line with round corners, half of it on either side of the edges.
        half = scaled(LINE, image.width) / 2
        left, top = (math.floor(min(axis) - half) for axis in zip(*polygon.vertices, strict=True))
        right, bottom = (math.ceil(max(axis) + half) for axis in zip(*polygon.vertices, strict=True))
        fine = PIL.Image.new("L", ((right - left) * _OUTLINE_FINER, (bottom - top) * _OUTLINE_FINER))
        pen = ImageDraw.Draw(fine)
        corners = [((x - left) * _OUTLINE_FINER, (y - top) * _OUTLINE_FINER) for x, y in polygon.vertices]
        for start, end in zip(corners, (*corners[1:], corners[0]), strict=True):
            pen.polygon(_stroke(start, end, half * _OUTLINE_FINER), fill=255)
            x, y = start
            reach = half * _OUTLINE_FINER
            pen.ellipse((round(x - reach), round(y - reach), round(x + reach) - 1, round(y + reach) - 1), fill=255)
        image.paste(POLYGON_RGB[polygon.color], (left, top), fine.reduce(_OUTLINE_FINER))
    for flowers in scene.flowers.values():
        for icon in flowers:
            _stamp(image, icons.sprite(icon.kind, icon.radius), icon.x, icon.y)


def _inside_mask(size: int, polygon: Polygon) -> PIL.Image.Image:
    """A mask with hard edges: the outline will cover them."""
    mask = PIL.Image.new("L", (size, size))
    ImageDraw.Draw(mask).polygon([(round(x), round(y)) for x, y in polygon.vertices], fill=255)
    return mask


def _stroke(start: Point, end: Point, half: float) -> list[tuple[int, int]]:
    (x1, y1), (x2, y2) = start, end
    dx, dy = x2 - x1, y2 - y1
    length = math.sqrt(dx * dx + dy * dy)
    u, v = -dy / length * half, dx / length * half
    return [(round(x), round(y)) for x, y in ((x1 + u, y1 + v), (x2 + u, y2 + v), (x2 - u, y2 - v), (x1 - u, y1 - v))]


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
