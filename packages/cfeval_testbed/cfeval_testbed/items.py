"""Draws questions about scenes, and the items of the built-in EDCT dataset."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cfeval_testbed.language.questions import (
    SHORTCUT_ACTION,
    SHORTCUT_COLOR,
    SHORTCUT_COUNT,
    SHORTCUT_SHAPE,
    Question,
    QuestionKind,
    shortcut_answer,
    true_answer,
    well_posed,
    word_question,
)
from cfeval_testbed.records import (
    ACTION_OF_SIGNAL,
    BACKGROUNDS,
    COLORS,
    NUMBERS,
    POSITIONS,
    SHAPES,
    SIGNAL_OF_ACTION,
    EditIntent,
    EditKind,
    Referent,
    Scene,
)
from cfeval_testbed.scenes import objects, replace_slot, sample_scene

EDITABLE_KINDS: tuple[QuestionKind, ...] = ("color", "shape", "position", "presence", "count", "robot")
"""All but questions about the background: there, answering from the background is no shortcut."""
OVERDETERMINED = 0.02
"""Share of presence items with a second object that keeps the answer true when the cited one is edited."""

EDIT_WEIGHTS: dict[EditKind, float] = {"color": 0.3, "shape": 0.3, "object": 0.1, "remove": 0.14, "background": 0.16}
"""How often `sample_edit` draws each kind."""


@dataclass(frozen=True)
class Item:
    """A scene and a well-posed question about it, with the right answer."""

    scene: Scene
    question: str
    answer: str
    kind: QuestionKind


def generate_items(
    count: int, seed: int, kinds: Sequence[QuestionKind] = EDITABLE_KINDS, *, correlated: bool = True
) -> Iterator[Item]:
    """Items whose kinds take turns, drawn as they are asked for; the same arguments give the same items.

    Args:
        count: how many.
        seed: of everything drawn.
        kinds: kinds of question to ask.
        correlated: whether the background's cue agrees with the truth, so that a shortcut is right.
    """
    rng = random.Random(seed)
    return (_item(kinds[number % len(kinds)], rng, correlated) for number in range(count))


def sample_question(scene: Scene, kind: QuestionKind, rng: random.Random) -> Question | None:
    """A well-posed question of this kind about the scene, or None where none was found."""
    for _ in range(8):
        question = _draw_question(scene, kind, rng)
        if well_posed(question, scene):
            return question
    return None


def sample_edit(scene: Scene, rng: random.Random) -> EditIntent:
    """An edit of a random kind that fits the scene; objects are named by their position."""
    kind = rng.choices(list(EDIT_WEIGHTS), list(EDIT_WEIGHTS.values()))[0]
    if kind == "background":
        return EditIntent(kind=kind, old=scene.background, new=_other(BACKGROUNDS, scene.background, rng))
    place = rng.choice([index for index, slot in enumerate(scene.slots) if slot.present])
    slot, target = scene.slots[place], Referent(position=POSITIONS[place])
    color, shape = _other(COLORS, slot.color, rng), _other(SHAPES, slot.shape, rng)
    new = {"color": color, "shape": shape, "object": f"{color} {shape}", "remove": ""}[kind]
    old = {"color": slot.color, "shape": slot.shape}.get(kind, f"{slot.color} {slot.shape}")
    return EditIntent(kind=kind, target=target, old=old, new=new)


def _other(choices: Sequence[str], old: str, rng: random.Random) -> str:
    return rng.choice([choice for choice in choices if choice != old])


def _draw_question(scene: Scene, kind: QuestionKind, rng: random.Random) -> Question:
    slots = [slot for _, slot in objects(scene)]
    slot = rng.choice(slots) if slots else rng.choice(scene.slots)
    if kind == "color":
        return Question(kind, shape=slot.shape)
    if kind == "shape":
        return Question(kind, color=slot.color)
    if kind == "position":
        return Question(kind, shape=slot.shape if rng.random() < 0.75 else rng.choice(SHAPES))
    if kind == "presence" and rng.random() < 0.5:
        color = rng.choice(slots).color if slots and rng.random() < 0.4 else rng.choice(COLORS)
        shape = rng.choice(slots).shape if slots and rng.random() < 0.4 else rng.choice(SHAPES)
        return Question(kind, color=color, shape=shape)
    return Question(kind, color=slot.color, shape=slot.shape) if kind == "presence" else Question(kind)


def _item(kind: QuestionKind, rng: random.Random, correlated: bool) -> Item:
    while True:
        drawn = _draw_item(kind, rng, correlated)
        if drawn is not None and _acceptable(*drawn, correlated):
            scene, question = drawn
            scene = _overdetermine(scene, question, rng)
            return Item(scene, word_question(question, rng), true_answer(question, scene), kind)


def _draw_item(kind: QuestionKind, rng: random.Random, correlated: bool) -> tuple[Scene, Question] | None:
    """A scene in which the thing asked about was set to what the background suggests, and the question."""
    scene = sample_scene(rng)
    if kind == "count" and correlated:
        objects_there = NUMBERS.index(SHORTCUT_COUNT[scene.background])
        scene = sample_scene(rng, objects_there, objects_there).model_copy(update={"background": scene.background})
    place = rng.choice([index for index, slot in enumerate(scene.slots) if slot.present])
    if kind == "robot":
        scene = _with_one_signal(scene, place, rng)
    if correlated:
        scene = _with_cue(scene, kind, place)
    slot = scene.slots[place]
    question = {
        "color": Question("color", shape=slot.shape),
        "shape": Question("shape", color=slot.color),
        "position": Question("position", shape=slot.shape),
    }.get(kind) or sample_question(scene, kind, rng)
    return None if question is None else (scene, question)


def _with_one_signal(scene: Scene, place: int, rng: random.Random) -> Scene:
    for index in range(4):
        scene = replace_slot(scene, index, size="small")
    return replace_slot(scene, place, size="large", color=rng.choice(list(ACTION_OF_SIGNAL)))


def _with_cue(scene: Scene, kind: QuestionKind, place: int) -> Scene:
    """The object at `place` given the value that the background suggests."""
    if kind == "color":
        return replace_slot(scene, place, color=SHORTCUT_COLOR[scene.background])
    if kind == "shape":
        return replace_slot(scene, place, shape=SHORTCUT_SHAPE[scene.background])
    if kind == "robot":
        return replace_slot(scene, place, color=SIGNAL_OF_ACTION[SHORTCUT_ACTION[scene.background]])
    return scene


def _acceptable(scene: Scene, question: Question, correlated: bool) -> bool:
    """No two objects alike, an honest answer, an object to edit, and the background's cue true where it must be."""
    pairs = [(slot.color, slot.shape) for _, slot in objects(scene)]
    if len(set(pairs)) < len(pairs) or not well_posed(question, scene):
        return False
    answer = true_answer(question, scene)
    if question.kind == "position" and answer not in POSITIONS:
        return False
    free = question.kind in ("position", "presence", "count")
    return not (correlated and free) or shortcut_answer(question, scene.background) == answer


def _overdetermine(scene: Scene, question: Question, rng: random.Random) -> Scene:
    """Now and then, a second object like the one asked about."""
    if question.kind != "presence" or rng.random() >= OVERDETERMINED:
        return scene
    others = [
        index
        for index, slot in enumerate(scene.slots)
        if slot.present and (slot.color, slot.shape) != (question.color, question.shape)
    ]
    if true_answer(question, scene) == "no" or not others:
        return scene
    return replace_slot(scene, rng.choice(others), color=question.color, shape=question.shape)
