"""Draws scenes and counterfactual questions about them, so that no answer is much more frequent than the others.

The groups are those of C-VQA-Real (Section 3.1): direct needs the original answer only, indirect needs the image,
boolean is meant to turn the answer round. An answer is drawn first, then scenes and questions until one has it.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from cfeval_testbed.counterfactual_questions.language import word
from cfeval_testbed.counterfactual_questions.meaning import (
    HALVES,
    NAMED,
    Add,
    Change,
    Join,
    Keep,
    Kind,
    Meaning,
    Multiply,
    Named,
    Remove,
    Supposition,
    Take,
    Thing,
    Which,
    answer,
    is_of,
    of_kind,
    things,
)
from cfeval_testbed.records import COLORS, SHAPES, SIZES, Scene
from cfeval_testbed.scenes import sample_scene

Group = Literal["direct", "indirect", "boolean"]
GROUPS: tuple[Group, ...] = get_args(Group)
VALUES: dict[Named, tuple[str, ...]] = {"color": COLORS, "shape": SHAPES, "size": SIZES}
ANSWERS: dict[Group, tuple[str, ...]] = {
    "direct": tuple(map(str, range(9))),
    "indirect": tuple(map(str, range(6))),
    "boolean": ("yes", "no"),
}
"""New answers, each drawn as often as the others."""
UNCHANGED: dict[Group, tuple[str, ...]] = {"direct": (), "indirect": ("0", "1", "2"), "boolean": ("yes", "no")}
"""Those of questions whose answer stays: of a kind of which there are four, every change changes the number."""
SUPPOSED_MOST = 5
"""Most objects that are added at once."""


@dataclass(frozen=True)
class Drawn:
    """A scene, what is asked about it, both questions in words, and both right answers."""

    scene: Scene
    meaning: Meaning
    original: str
    original_answer: str
    question: str
    answer: str


def draw(group: Group, rng: random.Random, unchanged: float = 0.0, known: bool = False) -> Drawn:
    """A question of a group.

    Args:
        group: which.
        rng: the source of randomness.
        unchanged: share of indirect and boolean questions whose answer the supposition leaves as it is.
        known: whether originals are only those that the world's own model has words for: no counts of a kind. What is
            supposed of all objects then changes their number.
    """
    may_stay = UNCHANGED[group] if group == "boolean" or not known else ()
    stays = bool(may_stay) and rng.random() < unchanged
    wanted = rng.choice(may_stay if stays else ANSWERS[group])
    while True:
        scene = sample_scene(rng)
        meaning = _MEANINGS[group](things(scene), rng, known)
        before, after = answer(Meaning(meaning.asked, meaning.kind), scene), answer(meaning, scene)
        if before is not None and after == wanted and (before == after) == stays and _is_fair(meaning, scene):
            original = word(Meaning(meaning.asked, meaning.kind), rng)
            return Drawn(scene, meaning, original, before, word(meaning, rng), after)


def _is_fair(meaning: Meaning, scene: Scene) -> bool:
    """Whether what is supposed would really be another world, and sounds like one."""
    those = things(scene)
    match meaning.supposed:
        case Change(_, kind, attribute, value):
            return all(getattr(thing, attribute) != value for thing in of_kind(those, kind))
        case Keep(kind):
            return not all(is_of(thing, kind) for thing in those)
        case Remove("every", kind):
            return kind != Kind()
        case _:
            return True


def _direct(those: tuple[Thing, ...], rng: random.Random, known: bool) -> Meaning:
    """The kind that is counted is the one whose number changes, or one that it holds."""
    del known
    number = rng.randint(1, SUPPOSED_MOST)
    added = rng.choice([Kind(), Kind(size=rng.choice(SIZES)), _some_kind(rng), _some_kind(rng)])
    supposed: list[Supposition] = [
        Add(number, added),
        Take(rng.randint(1, len(those)), Kind()),
        Multiply(rng.choice([2, 3]), Kind()),
    ]
    return Meaning("count", Kind(), rng.choices(supposed, [3, 3, 1])[0])


def _indirect(those: tuple[Thing, ...], rng: random.Random, known: bool) -> Meaning:
    """Which objects the supposition concerns must be seen; of objects as such, or of a kind that it changes."""
    kind = _kind_of(rng.choice(those), rng)
    if known or rng.random() < 0.5:
        where = Kind(area=rng.choice(HALVES))
        supposed: list[Supposition] = [
            Remove("every", rng.choice([kind, where])),
            Keep(rng.choice([kind, where])),
            Join(_some_kind(rng), kind),
            Multiply(rng.choice([2, 3]), kind),
        ]
        return Meaning("count", Kind(), rng.choices(supposed, [3, 2, 2, 1])[0])
    attribute = rng.choice(NAMED)
    value = rng.choice(VALUES[attribute])
    asked = Kind(**{attribute: rng.choice([value, getattr(rng.choice(those), attribute)])})
    changes: list[Supposition] = [Change("every", kind, attribute, value), Remove("every", kind)]
    return Meaning("count", asked, rng.choice(changes))


def _boolean(those: tuple[Thing, ...], rng: random.Random, known: bool) -> Meaning:
    """About a color and a shape, each often one that is there."""
    del known
    one, other = rng.choice(those), rng.choice(those)
    asked = Kind(rng.choice([one.color, rng.choice(COLORS)]), rng.choice([one.shape, other.shape]))
    which: Which = rng.choice(["the", "every"])
    kind = _kind_of(other, rng)
    attribute = rng.choice(NAMED)
    values = [rng.choice(VALUES[attribute]), getattr(asked, attribute) or rng.choice(SIZES)]
    new = rng.choice([Kind(asked.color, asked.shape), _some_kind(rng)])
    supposed: list[Supposition] = [
        Change(which, kind, attribute, rng.choice(values)),
        Remove(which, kind),
        Keep(kind),
        Add(1, new),
        Join(new, kind),
    ]
    return Meaning("presence", asked, rng.choices(supposed, [5, 3, 1, 1, 1])[0])


_MEANINGS: dict[Group, Callable[[tuple[Thing, ...], random.Random, bool], Meaning]] = {
    "direct": _direct,
    "indirect": _indirect,
    "boolean": _boolean,
}


def _kind_of(thing: Thing, rng: random.Random) -> Kind:
    """A kind that a thing is of, by one or two of its attributes."""
    named = rng.sample(NAMED, rng.choice([1, 1, 2]))
    return Kind(**{name: getattr(thing, name) for name in named})


def _some_kind(rng: random.Random) -> Kind:
    return Kind(rng.choice(COLORS), rng.choice(SHAPES))
