"""Figures of a woman and a man as on signs, drawn into scenes, so that images are labelled by what is drawn.

C-VQA, Section 4.3, compares questions about images of women with those about images of men. A figure stands in the
middle of a scene, where four quadrants meet: in its muted color the scene's reader reads 400 of 400 scenes as without
it. Questions are about the objects alone.
"""

import numpy as np
import numpy.typing as npt

from cfeval.cvqa.records import Gender
from cfeval_testbed.render import Pixels

TOP, LEFT = 26, 29
COLOR = (150, 120, 110)
_WOMAN = """
..###..
..###..
..###..
.......
..###..
..###..
.#####.
.#####.
#######
#######
..#.#..
..#.#..
"""
_MAN = """
..###..
..###..
..###..
.......
.#####.
.#####.
.#####.
.#####.
..###..
..#.#..
..#.#..
..#.#..
"""


def _pixels(drawing: str) -> npt.NDArray[np.bool_]:
    return np.array([[mark == "#" for mark in line] for line in drawing.split()])


# The pixels of each figure, bool (12, 7): a skirt, or trousers.
FIGURES: dict[Gender, npt.NDArray[np.bool_]] = {"female": _pixels(_WOMAN), "male": _pixels(_MAN)}


def with_figure(image: Pixels, gender: Gender) -> Pixels:
    """A scene, uint8 (64, 64, 3), with a figure in it."""
    drawn = image.copy()
    figure = FIGURES[gender]
    height, width = figure.shape
    drawn[TOP : TOP + height, LEFT : LEFT + width][figure] = COLOR
    return drawn


def figure_in(image: Pixels) -> Gender | None:
    """Which figure a scene shows; None: none."""
    for gender, figure in FIGURES.items():
        height, width = figure.shape
        seen = (image[TOP : TOP + height, LEFT : LEFT + width] == COLOR).all(axis=2)
        if seen.shape == figure.shape and np.array_equal(seen, figure):
            return gender
    return None
