"""Images as a test model imagines them: what it saw, drawn again with one thing otherwise.

Pure functions of scenes; a reader (`cfeval_testbed.agents.scene_reader`) says which scene an image shows.
"""

import random
from typing import TYPE_CHECKING

from cfeval_testbed.language.questions import Question, QuestionKind, true_answer
from cfeval_testbed.records import (
    ACTIONS,
    BACKGROUNDS,
    COLORS,
    NUMBERS,
    POSITIONS,
    SHAPES,
    SIGNAL_OF_ACTION,
    YES_AND_NO,
    Referent,
    Scene,
    Slot,
)
from cfeval_testbed.scenes import replace_slot, resolve

if TYPE_CHECKING:
    from cfeval_testbed.agents.scene_reader import Reading

ANSWERS: dict[QuestionKind, tuple[str, ...]] = {
    "color": COLORS,
    "shape": SHAPES,
    "position": POSITIONS,
    "presence": YES_AND_NO,
    "count": NUMBERS[1:],
    "robot": ACTIONS,
    "background": BACKGROUNDS,
}
"""The answers that an image with an object can make right, by kind of question."""


def scene_read(reading: "Reading") -> Scene:
    """The scene of a reading; what no reading tells (place within the quadrant, light, noise) is even."""
    first, second, third, fourth = (_slot(seen) for seen in reading.slots)
    return Scene.model_validate(
        {
            "slots": (first, second, third, fourth),
            "background": reading.background,
            "light_angle": 0.0,
            "brightness": 1.0,
            "noise_seed": 0,
        }
    )


def _slot(seen: tuple[str, str, str] | None) -> Slot:
    size, color, shape = seen or ("large", COLORS[0], SHAPES[0])
    look = {"size": size, "color": color, "shape": shape, "present": seen is not None}
    return Slot.model_validate(look | {"dx": 0.0, "dy": 0.0, "scale": 0.5, "angle": 0.0, "tint": 0.0})


def place_asked_about(question: Question, scene: Scene) -> int | None:
    """The quadrant of the first object that a question points at; None where it points at none."""
    if question.kind in ("count", "background"):
        return None
    return next(iter(resolve(scene, Referent.model_validate(_named(question)))), None)


def _named(question: Question) -> dict[str, str]:
    """The attributes by which a question points at an object."""
    size = "large" if question.kind == "robot" else None
    named = {"color": question.color, "shape": question.shape, "size": size}
    return {name: value for name, value in named.items() if value}


def alone(scene: Scene, place: int) -> Scene:
    """The scene with no object but the one in this quadrant."""
    for other in range(len(POSITIONS)):
        if other != place:
            scene = replace_slot(scene, other, present=False)
    return scene


def showing(scene: Scene, question: Question, answer: str) -> Scene:
    """The scene with as little changed as makes this answer right, one of `ANSWERS`.

    An object that is asked about and missing takes the place of the first one there is.
    """
    if true_answer(question, scene) == answer:
        return scene
    if question.kind == "background":
        return scene.model_copy(update={"background": answer})
    if question.kind == "count":
        return _with_objects(scene, NUMBERS.index(answer))
    place = place_asked_about(question, scene)
    if place is None:
        place = _first_object(scene)
        scene = replace_slot(scene, place, present=True, **_named(question))
    if question.kind == "position":
        return _swapped(scene, place, next(number for number, name in enumerate(POSITIONS) if name == answer))
    if question.kind == "presence":
        return scene if answer == "yes" else _without(scene, question)
    if question.kind == "robot":
        return replace_slot(scene, place, color=SIGNAL_OF_ACTION[answer])
    return replace_slot(scene, place, **{question.kind: answer})


def _first_object(scene: Scene) -> int:
    return next((place for place, slot in enumerate(scene.slots) if slot.present), 0)


def _with_objects(scene: Scene, count: int) -> Scene:
    """So many objects: the first of those there are, and where they are too few, those that the empty places hold."""
    order = sorted(range(len(scene.slots)), key=lambda place: not scene.slots[place].present)
    for number, place in enumerate(order):
        scene = replace_slot(scene, place, present=number < count)
    return scene


def _swapped(scene: Scene, one: int, other: int) -> Scene:
    slots = list(scene.slots)
    slots[one], slots[other] = slots[other], slots[one]
    return scene.model_copy(update={"slots": tuple(slots)})


def _without(scene: Scene, question: Question) -> Scene:
    """Every object like the one asked about in another color."""
    another = next(color for color in COLORS if color != question.color)
    for place in resolve(scene, Referent(color=question.color, shape=question.shape)):
        scene = replace_slot(scene, place, color=another)
    return scene


def misperceived(scene: Scene, question: Question, rate: float) -> Scene:
    """The scene as weak eyes see it: with chance `rate` what is asked about is seen wrongly, else all as it is.

    The draw belongs to the question and to what is asked about: it is the same while both stay as they are. Another
    value is seen, an object elsewhere, one that is not there, or one too few; of one object two.
    """
    place = place_asked_about(question, scene)
    looked_at = scene.slots if place is None else scene.slots[place]
    rng = random.Random(f"misperceived {question} {place} {looked_at}")
    if rng.random() >= rate:
        return scene
    right = true_answer(question, scene)
    if question.kind == "count":
        there = NUMBERS.index(right)
        return _with_objects(scene, there - 1 if there > 1 else there + 1)
    return showing(scene, question, rng.choice([answer for answer in ANSWERS[question.kind] if answer != right]))
