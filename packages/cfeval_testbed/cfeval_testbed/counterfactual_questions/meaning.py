"""What a question about a scene supposes and asks, and its answer: the change is made to what the scene holds.

A scene has four places, a supposed world any number of things: changes are made to a list of things. An answer that
what was said does not settle is None: which of two were removed, what color an added object has.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, assert_never

from cfeval_testbed.records import Scene
from cfeval_testbed.scenes import objects

Named = Literal["color", "shape", "size"]
Which = Literal["the", "every"]
"""`the` points at exactly one thing, `every` at one or more."""
NAMED: tuple[Named, ...] = ("color", "shape", "size")
HALVES = ("top half", "bottom half", "left half", "right half")


@dataclass(frozen=True)
class Thing:
    """An object of a supposed world; None for what nothing was said about. A supposed object has no position."""

    color: str | None = None
    shape: str | None = None
    size: str | None = None
    position: str | None = None


@dataclass(frozen=True)
class Kind:
    """Objects by what is named of them; `area` is a half or a quadrant of the image, such as `top half`."""

    color: str | None = None
    shape: str | None = None
    size: str | None = None
    area: str | None = None


@dataclass(frozen=True)
class Add:
    """So many objects of a kind are added."""

    number: int
    kind: Kind


@dataclass(frozen=True)
class Take:
    """So many objects of a kind are removed; which ones is left open."""

    number: int
    kind: Kind


@dataclass(frozen=True)
class Multiply:
    """There are `factor` (2 or 3) times as many objects of a kind."""

    factor: int
    kind: Kind


@dataclass(frozen=True)
class Remove:
    """One object, or every object of a kind, is removed."""

    which: Which
    kind: Kind


@dataclass(frozen=True)
class Keep:
    """Every object that is not of a kind is removed."""

    kind: Kind


@dataclass(frozen=True)
class Change:
    """One object, or every object of a kind, gets another color, shape or size."""

    which: Which
    kind: Kind
    attribute: Named
    value: str


@dataclass(frozen=True)
class Join:
    """An object of the kind `new` is put beside every object of a kind."""

    new: Kind
    kind: Kind


Supposition = Add | Take | Multiply | Remove | Keep | Change | Join


@dataclass(frozen=True)
class Meaning:
    """How many objects of a kind there are, or whether there is one; and what is supposed, None for the scene as is."""

    asked: Literal["count", "presence"]
    kind: Kind
    supposed: Supposition | None = None


def things(scene: Scene) -> tuple[Thing, ...]:
    """What the scene holds, in reading order."""
    return tuple(Thing(slot.color, slot.shape, slot.size, position) for position, slot in objects(scene))


def is_of(thing: Thing, kind: Kind) -> bool | None:
    """Whether a thing is of a kind; None where what was said of it does not settle that."""
    said = [_fits(getattr(thing, name), getattr(kind, name)) for name in NAMED]
    said.append(_fits(thing.position, kind.area))
    return False if False in said else None if None in said else True


def of_kind(those: Iterable[Thing], kind: Kind) -> list[Thing]:
    """Those that are of a kind for certain."""
    return [thing for thing in those if is_of(thing, kind)]


def supposed_worlds(those: tuple[Thing, ...], supposed: Supposition | None) -> Iterator[tuple[Thing, ...]]:
    """The worlds that a supposition can mean; none where it presupposes what is not there."""
    if supposed is None:
        yield those
        return
    found = of_kind(those, supposed.kind)
    match supposed:
        case Add(number, kind):
            yield (*those, *[_new(kind)] * number)
        case Take(number):
            yield from (_without(those, gone) for gone in combinations(found, number))
        case Multiply(factor, kind):
            yield from [(*those, *[_new(kind)] * (len(found) * (factor - 1)))] if found else []
        case Remove(which):
            yield from [_without(those, found)] if _there(found, which) else []
        case Keep():
            yield from [tuple(found)] if found else []
        case Change(which, _, attribute, value):
            changed = tuple(replace(one, **{attribute: value}) if one in found else one for one in those)
            yield from [changed] if _there(found, which) else []
        case Join(new):
            yield from [(*those, *[_new(new)] * len(found))] if found else []
        case _:
            assert_never(supposed)


def answer(meaning: Meaning, scene: Scene) -> str | None:
    """The right answer: digits, `yes` or `no`; None where the question has not exactly one."""
    return answer_about(meaning, things(scene))


def answer_about(meaning: Meaning, those: tuple[Thing, ...]) -> str | None:
    """Like `answer`, about a world."""
    answers = {_answer(meaning, world) for world in supposed_worlds(those, meaning.supposed)}
    return answers.pop() if len(answers) == 1 else None


def _answer(meaning: Meaning, world: tuple[Thing, ...]) -> str | None:
    said = [is_of(thing, meaning.kind) for thing in world]
    if meaning.asked == "presence":
        return "yes" if True in said else None if None in said else "no"
    return None if None in said else str(said.count(True))


def _fits(real: str | None, wanted: str | None) -> bool | None:
    if wanted is None:
        return True
    if real is None:
        return None
    return wanted.removesuffix(" half") in real.split() if wanted.endswith(" half") else real == wanted


def _there(found: list[Thing], which: Which) -> bool:
    return len(found) == 1 if which == "the" else bool(found)


def _new(kind: Kind) -> Thing:
    return Thing(kind.color, kind.shape, kind.size)


def _without(those: tuple[Thing, ...], gone: Iterable[Thing]) -> tuple[Thing, ...]:
    """Every thing of a scene has a position of its own: no two are equal."""
    away = set(gone)
    return tuple(thing for thing in those if thing not in away)
