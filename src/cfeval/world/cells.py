"""Cells: quadrants of drawn scenes with one large object, in 40 classes (5 shapes × 8 colors), for the vce study."""

import random
from collections.abc import Sequence

import numpy as np

from cfeval.records.world import ColorName, Scene, ShapeName, Slot
from cfeval.world.render import CELL, Image, render_many
from cfeval.world.scenes import sample_scene
from cfeval.world.vocabulary import COLORS, SHAPES

CELL_CLASSES: tuple[str, ...] = tuple(f"{color} {shape}" for shape in SHAPES for color in COLORS)
"""The names of the classes, in the order of the classifiers' logits."""


def parts_of(label: str) -> tuple[ColorName, ShapeName]:
    """The color and the shape of a class."""
    place = CELL_CLASSES.index(label)
    return COLORS[place % len(COLORS)], SHAPES[place // len(COLORS)]


def shared_parts(first: str, second: str) -> int:
    """How many of color and shape two classes share: 0, 1 or 2, the similarity of classes in this world."""
    return sum(one == other for one, other in zip(parts_of(first), parts_of(second), strict=True))


def draw_cells(labels: Sequence[str], rng: random.Random) -> Image:
    """A cell of each class, uint8 (N, 32, 32, 3); background, light, place, size, rotation and tint are drawn."""
    scenes = [_with_large(sample_scene(rng, 4, 4), label) for label in labels]
    return np.ascontiguousarray(render_many(scenes)[:, :CELL, :CELL])


def draw_many_cells(count: int, rng: random.Random) -> tuple[Image, list[int]]:
    """`count` cells of random classes, four from each scene, with their class numbers; for training."""
    scenes = [_with_large(sample_scene(rng, 4, 4)) for _ in range((count + 3) // 4)]
    pictures = render_many(scenes)
    corners = [(row, column) for row in (0, CELL) for column in (0, CELL)]
    cells = np.stack([pictures[:, row : row + CELL, column : column + CELL] for row, column in corners], 1)
    numbers = [CELL_CLASSES.index(f"{slot.color} {slot.shape}") for scene in scenes for slot in scene.slots]
    return np.ascontiguousarray(cells.reshape(-1, CELL, CELL, 3)[:count]), numbers[:count]


def _with_large(scene: Scene, label: str = "") -> Scene:
    """The scene with large objects, the first one of a class where one is named."""
    slots = [slot.model_copy(update={"size": "large"}) for slot in scene.slots]
    if label:
        color, shape = parts_of(label)
        slots[0] = Slot.model_validate({**slots[0].model_dump(), "color": color, "shape": shape})
    return scene.model_copy(update={"slots": tuple(slots)})
