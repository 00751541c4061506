"""The flowers that the project draws itself. Dark rims set them off from white."""

from collections.abc import Callable

from cfeval.world.puzzles.canvas import Canvas
from cfeval.world.puzzles.look import Rgb

_GREEN: Rgb = (58, 140, 60)
_LEAF: Rgb = (94, 172, 84)


_CUP = ((-0.55, -0.15), (-0.52, -0.83), (-0.24, -0.55), (0.0, -0.97), (0.24, -0.55), (0.52, -0.83), (0.55, -0.15))
"""The upper part of a tulip."""


def _ring(canvas: Canvas, petals: int, far: float, width: float, color: Rgb, rim: Rgb, near: float = 0.1) -> None:
    """Petals all around, every one with a rim."""
    for place in range(petals):
        canvas.petal(place / petals, near, far, width, rim)
        canvas.petal(place / petals, near + 0.07, far - 0.07, width - 0.07, color)


def _daisy(canvas: Canvas) -> None:
    _ring(canvas, 9, 0.97, 0.26, (255, 255, 255), (120, 134, 168))
    canvas.disc(0, 0, 0.34, (214, 150, 20))
    canvas.disc(0, 0, 0.27, (252, 204, 48))


def _sunflower(canvas: Canvas) -> None:
    _ring(canvas, 12, 0.97, 0.2, (252, 190, 20), (190, 116, 10), near=0.2)
    canvas.disc(0, 0, 0.5, (82, 46, 20))
    canvas.disc(0, 0, 0.36, (128, 76, 34))


def _cherry(canvas: Canvas) -> None:
    _ring(canvas, 5, 0.96, 0.42, (250, 184, 208), (196, 92, 138))
    _ring(canvas, 5, 0.5, 0.07, (214, 84, 132), (214, 84, 132))
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
    _ring(canvas, 6, 0.97, 0.34, (150, 108, 220), (76, 42, 140))
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
    _ring(canvas, 8, 0.97, 0.24, (104, 160, 248), (30, 66, 160))
    canvas.disc(0, 0, 0.36, (30, 66, 160))
    canvas.disc(0, 0, 0.24, (214, 230, 255))


def _poppy(canvas: Canvas) -> None:
    _ring(canvas, 4, 0.96, 0.5, (238, 72, 44), (150, 22, 16), near=0)
    canvas.disc(0, 0, 0.27, (40, 30, 34))
    canvas.disc(0, 0, 0.12, (170, 190, 90))


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
"""What draws a flower, by its name."""
