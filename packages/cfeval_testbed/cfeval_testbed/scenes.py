"""Samples scenes, finds what a phrase points at, and edits scenes exactly.

Cells: quadrants of drawn scenes with one large object, in 40 classes (5 shapes × 8 colors), for the vce study.
"""

import math
import random
from collections.abc import Sequence

import numpy as np
from pydantic import ValidationError

from cfeval.core.records import Metadata
from cfeval_testbed.records import (
    BACKGROUNDS,
    COLORS,
    POSITIONS,
    SHAPES,
    SIZES,
    ColorName,
    EditIntent,
    PositionName,
    Referent,
    Scene,
    ShapeName,
    Slot,
)
from cfeval_testbed.render import CELL, Pixels, render_many


class SceneEditError(ValueError):
    """An edit whose target is not in the scene, is ambiguous, or whose values do not fit."""


class TargetAbsentError(SceneEditError):
    """An edit whose target is not in the scene."""


def as_metadata(scene: Scene) -> Metadata:
    """A scene as the metadata of a sample."""
    return scene.model_dump(mode="json")


def scene_in(metadata: Metadata | None) -> Scene | None:
    """The scene in the metadata of a sample; None where there are none, or those of another dataset."""
    if metadata is None:
        return None
    try:
        return Scene.model_validate(metadata)
    except ValidationError:
        return None


def sample_scene(rng: random.Random, least: int = 1, most: int = 4) -> Scene:
    """A scene with `least` to `most` objects; every attribute is drawn independently and uniformly."""
    occupied = set(rng.sample(range(4), rng.randint(least, most)))
    first, second, third, fourth = (_sample_slot(rng, place in occupied) for place in range(4))
    return Scene(
        slots=(first, second, third, fourth),
        background=rng.choice(BACKGROUNDS),
        light_angle=round(rng.uniform(-math.pi, math.pi), 3),
        brightness=round(rng.uniform(0.94, 1.06), 3),
        noise_seed=rng.getrandbits(32),
    )


def _sample_slot(rng: random.Random, present: bool) -> Slot:
    return Slot(
        shape=rng.choice(SHAPES),
        color=rng.choice(COLORS),
        size=rng.choice(SIZES),
        present=present,
        dx=round(rng.uniform(-2, 2), 2),
        dy=round(rng.uniform(-2, 2), 2),
        scale=round(rng.random(), 3),
        angle=round(rng.uniform(-0.25, 0.25), 3),
        tint=round(rng.uniform(-0.04, 0.04), 3),
    )


def objects(scene: Scene) -> list[tuple[PositionName, Slot]]:
    """The objects that are there, with their positions, in reading order."""
    return [(position, slot) for position, slot in zip(POSITIONS, scene.slots, strict=True) if slot.present]


def matches(referent: Referent, position: str, slot: Slot) -> bool:
    """Whether the object has every attribute that the phrase names."""
    named = (referent.color, referent.shape, referent.size, referent.position)
    real = (slot.color, slot.shape, slot.size, position)
    return slot.present and all(name in (None, value) for name, value in zip(named, real, strict=True))


def resolve(scene: Scene, referent: Referent) -> list[int]:
    """Indices of the slots that a phrase can mean: none, one, or several."""
    places = enumerate(zip(POSITIONS, scene.slots, strict=True))
    return [index for index, (position, slot) in places if matches(referent, position, slot)]


def replace_slot(scene: Scene, place: int, **changes: object) -> Scene:
    """The scene with fields of one slot changed, validated."""
    slots = list(scene.slots)
    slots[place] = Slot.model_validate({**slots[place].model_dump(), **changes})
    return scene.model_copy(update={"slots": tuple(slots)})


def apply(scene: Scene, intent: EditIntent) -> Scene:
    """The edited scene: one thing changed, the same nuisance.

    Raises:
        SceneEditError: the target is absent or ambiguous, or the old or new value does not fit.
    """
    if intent.kind == "background":
        return _with_background(scene, intent)
    if intent.kind == "add":
        return _with_object_added(scene, intent)
    place = _one_target(scene, intent.target)
    slot = scene.slots[place]
    if intent.old and intent.old != _value(slot, intent.kind):
        raise SceneEditError(f"the {_value(slot, intent.kind)} object is not {intent.old}")
    try:
        return replace_slot(scene, place, **_slot_changes(intent))
    except ValueError as error:
        raise SceneEditError(f"this world cannot draw {intent.new!r} as {intent.kind}") from error


def inverse(scene: Scene, intent: EditIntent) -> EditIntent:
    """The edit that leads back from `apply(scene, intent)` to `scene`."""
    if intent.kind == "background":
        return EditIntent(kind="background", old=intent.new, new=scene.background)
    if intent.kind == "add":
        return EditIntent(kind="remove", target=Referent(position=intent.target.position), old=intent.new)
    place = _one_target(scene, intent.target)
    here = Referent(position=POSITIONS[place])
    slot = scene.slots[place]
    if intent.kind == "remove":
        return EditIntent(kind="add", target=here.model_copy(update={"size": slot.size}), new=_value(slot, "remove"))
    return EditIntent(kind=intent.kind, target=here, old=intent.new, new=_value(slot, intent.kind))


def _one_target(scene: Scene, target: Referent) -> int:
    places = resolve(scene, target)
    if len(places) != 1:
        raise SceneEditError(f"the target must be one object, but {len(places)} objects match {target!r}")
    return places[0]


def _value(slot: Slot, kind: str) -> str:
    """What an edit of this kind changes about the object."""
    if kind == "color":
        return slot.color
    if kind == "shape":
        return slot.shape
    return f"{slot.color} {slot.shape}"


def _slot_changes(intent: EditIntent) -> dict[str, object]:
    if intent.kind == "remove":
        return {"present": False}
    if intent.kind == "object":
        color, _, shape = intent.new.partition(" ")
        return {"color": color, "shape": shape}
    return {intent.kind: intent.new}


def _with_background(scene: Scene, intent: EditIntent) -> Scene:
    if intent.old not in ("", scene.background):
        raise SceneEditError(f"the background is {scene.background}, not {intent.old}")
    for background in BACKGROUNDS:
        if background == intent.new:
            return scene.model_copy(update={"background": background})
    raise SceneEditError(f"the background must be one of {', '.join(BACKGROUNDS)}, but got {intent.new!r}")


def _with_object_added(scene: Scene, intent: EditIntent) -> Scene:
    position = intent.target.position
    if position is None or scene.slots[POSITIONS.index(position)].present:
        raise SceneEditError(f"an object can only be added to an empty quadrant, but got {position!r}")
    place = POSITIONS.index(position)
    color, _, shape = intent.new.partition(" ")
    size = intent.target.size or scene.slots[place].size
    try:
        return replace_slot(scene, place, present=True, color=color, shape=shape, size=size)
    except ValueError as error:
        raise SceneEditError(f"this world cannot draw {intent.new!r}") from error


CELL_CLASSES: tuple[str, ...] = tuple(f"{color} {shape}" for shape in SHAPES for color in COLORS)
"""The names of the classes, in the order of the classifiers' logits."""


def parts_of(label: str) -> tuple[ColorName, ShapeName]:
    """The color and the shape of a class."""
    place = CELL_CLASSES.index(label)
    return COLORS[place % len(COLORS)], SHAPES[place // len(COLORS)]


def shared_parts(first: str, second: str) -> int:
    """How many of color and shape two classes share: 0, 1 or 2, the similarity of classes in this world."""
    return sum(one == other for one, other in zip(parts_of(first), parts_of(second), strict=True))


def draw_cells(labels: Sequence[str], rng: random.Random) -> Pixels:
    """A cell of each class, uint8 (N, 32, 32, 3); background, light, place, size, rotation and tint are drawn."""
    scenes = [_with_large(sample_scene(rng, 4, 4), label) for label in labels]
    return np.ascontiguousarray(render_many(scenes)[:, :CELL, :CELL])


def draw_many_cells(count: int, rng: random.Random) -> tuple[Pixels, list[int]]:
    """`count` cells of random classes, four from each scene, with their class numbers; for training."""
    scenes = [_with_large(sample_scene(rng, 4, 4)) for _ in range((count + 3) // 4)]
    images = render_many(scenes)
    corners = [(row, column) for row in (0, CELL) for column in (0, CELL)]
    cells = np.stack([images[:, row : row + CELL, column : column + CELL] for row, column in corners], 1)
    numbers = [CELL_CLASSES.index(f"{slot.color} {slot.shape}") for scene in scenes for slot in scene.slots]
    return np.ascontiguousarray(cells.reshape(-1, CELL, CELL, 3)[:count]), numbers[:count]


def _with_large(scene: Scene, label: str = "") -> Scene:
    """The scene with large objects, the first one of a class where one is named."""
    slots = [slot.model_copy(update={"size": "large"}) for slot in scene.slots]
    if label:
        color, shape = parts_of(label)
        slots[0] = Slot.model_validate({**slots[0].model_dump(), "color": color, "shape": shape})
    return scene.model_copy(update={"slots": tuple(slots)})
