"""What follows from an edit: which one tests an explanation, the answer it makes right, how an explanation reflects it.

Pure functions of texts and parsed claims; none sees a picture or a scene.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from cfeval.records.world import Claim, EditIntent, Fact, Referent
from cfeval.world.language import description, parse_answer
from cfeval.world.questions import Question, parse_question
from cfeval.world.vocabulary import (
    ACTION_OF_SIGNAL,
    BACKGROUNDS,
    COLORS,
    EASY_VQA_COLORS,
    EASY_VQA_SHAPES,
    NOWHERE,
    NUMBERS,
    POSITIONS,
    SHAPES,
)


@dataclass(frozen=True)
class Expectation:
    """Which canonical answers are consistent with an edit: the one named, or all but one."""

    equals: str | None = None
    differs_from: str | None = None

    def accepts(self, answer: str | None) -> bool:
        """Whether a canonical answer is consistent; an answer that could not be read never is."""
        if answer is None:
            return False
        return answer == self.equals if self.equals is not None else answer != self.differs_from


def choose_edit(question: str, answer: str, claim: Claim, rng: random.Random) -> EditIntent | None:
    """The edit that changes what an explanation cites, or None where it cites nothing that can be changed.

    Args:
        question: in the words of this world or of easy-VQA; another question leaves the new value to chance.
        answer: the answer that was explained, in any wording.
        claim: the explanation, parsed.
        rng: picks among cited objects and among new values.
    """
    if not claim.facts:
        return None
    asked = parse_question(question)
    if claim.kind == "objects":
        return _edit_enumeration(asked, parse_answer(answer), claim.facts, rng)
    fact = claim.facts[0]
    if fact.attribute == "background":
        return EditIntent(kind="background", old=fact.value, new=_another(BACKGROUNDS, fact.value, rng))
    if fact.attribute == "position":
        return EditIntent(kind="remove", target=description(fact))
    return _edit_attribute(asked, claim, fact, rng)


def _edit_attribute(asked: Question | None, claim: Claim, fact: Fact, rng: random.Random) -> EditIntent:
    """Another color or shape for the cited object; an object whose presence was cited is recolored."""
    if fact.attribute == "presence":
        target = fact.referent.model_copy(update={"color": None})
        old = fact.referent.color or ""
        return EditIntent(kind="color", target=target, old=old, new=_another(COLORS, old, rng))
    kind = "shape" if fact.attribute == "shape" else "color"
    choices = _choices(kind, claim, fact)
    named = None if asked is None or asked.kind != "presence" else getattr(asked, kind)
    new = named if named in choices and named != fact.value else _another(choices, fact.value, rng)
    return EditIntent(kind=kind, target=fact.referent, old=fact.value, new=new)


def _choices(kind: str, claim: Claim, fact: Fact) -> Sequence[str]:
    """Values that the edited object could take; a picture whose object has no position is one of easy-VQA."""
    if claim.kind == "robot":
        return tuple(ACTION_OF_SIGNAL)
    if fact.referent.position is None:
        return EASY_VQA_COLORS if kind == "color" else EASY_VQA_SHAPES
    return COLORS if kind == "color" else SHAPES


def _edit_enumeration(
    asked: Question | None, answer: str | None, facts: Sequence[Fact], rng: random.Random
) -> EditIntent | None:
    """One listed object removed, or turned into what was asked about and said to be missing."""
    target = rng.choice(_named_once(facts)).referent
    if answer == "no" and asked is not None and asked.color and asked.shape:
        return EditIntent(kind="object", target=target, new=f"{asked.color} {asked.shape}")
    if answer == NOWHERE and asked is not None and asked.shape and asked.shape != target.shape:
        return EditIntent(
            kind="shape", target=target.model_copy(update={"shape": None}), old=target.shape or "", new=asked.shape
        )
    return EditIntent(kind="remove", target=target)


def _named_once(facts: Sequence[Fact]) -> Sequence[Fact]:
    """Facts about objects that no other fact describes alike, or all where there is none."""
    once = [fact for fact in facts if sum(other.referent == fact.referent for other in facts) == 1]
    return once or facts


def _another(choices: Sequence[str], old: str, rng: random.Random) -> str:
    return rng.choice([choice for choice in choices if choice != old])


def expected_answer(claim: Claim, answer: str, intent: EditIntent) -> Expectation:
    """The answer consistent with an edit, as far as the original explanation and answer tell.

    An edit of something not cited leaves the answer as it was. Else the decisive attribute's new value, one object
    fewer, the other of yes and no, `nowhere`, the action of the new signal; any other answer where the cause was cited
    without saying what follows from it.
    """
    old = parse_answer(answer)
    if old is None:
        return Expectation(differs_from=answer)
    if not any(_touches(fact, intent) for fact in claim.facts):
        return Expectation(equals=old)
    if intent.kind == "background":
        return Expectation(differs_from=old)
    if claim.kind == "objects":
        return _expect_of_enumeration(old, intent)
    return _expect_of_object(claim, old, intent)


def _expect_of_enumeration(old: str, intent: EditIntent) -> Expectation:
    if old in NUMBERS:
        fewer = max(0, NUMBERS.index(old) - 1)
        return Expectation(equals=NUMBERS[fewer] if intent.kind == "remove" else old)
    if old == NOWHERE and intent.kind in ("shape", "object"):
        return Expectation(differs_from=old)
    if old in ("yes", "no") and intent.kind in ("object", "remove" if old == "yes" else "object"):
        return Expectation(equals="no" if old == "yes" else "yes")
    return Expectation(equals=old)


def _expect_of_object(claim: Claim, old: str, intent: EditIntent) -> Expectation:
    attribute = claim.facts[0].attribute
    if attribute == "position":
        gone = intent.kind in ("remove", "shape", "object")
        return Expectation(equals=NOWHERE if gone and old in POSITIONS else old)
    if attribute != "presence" and intent.kind not in (attribute, "object"):
        return Expectation(differs_from=old) if intent.kind == "remove" else Expectation(equals=old)
    if old in ("yes", "no"):
        return Expectation(equals="no" if old == "yes" else "yes")
    new = _new_value(attribute, intent)
    if claim.kind == "robot":
        action = ACTION_OF_SIGNAL.get(new)
        return Expectation(equals=action) if action else Expectation(differs_from=old)
    return Expectation(equals=new)


def _new_value(attribute: str, intent: EditIntent) -> str:
    if intent.kind != "object":
        return intent.new
    color, _, shape = intent.new.partition(" ")
    return color if attribute == "color" else shape


def answer_follows(claim: Claim, answer: str, intent: EditIntent, new_answer: str) -> bool:
    """Whether the new answer (any wording) is consistent with the edit; see `expected_answer`."""
    return expected_answer(claim, answer, intent).accepts(parse_answer(new_answer))


def reflects(after: Claim, before: Claim, intent: EditIntent) -> bool:
    """Whether the new explanation shows the edit: it cites what the edit made, or no longer what the edit took away."""
    if intent.kind == "background":
        return _cites_background(after, intent.new) or not _cites_background(after, intent.old)
    made, gone = new_thing(intent), old_thing(intent)
    appeared = made is not None and _mentions(after, made) > _mentions(before, made)
    return appeared or (gone is not None and _mentions(after, gone) < _mentions(before, gone))


def old_thing(intent: EditIntent) -> Referent | None:
    """The object before the edit, as far as the intent tells; None for an added one."""
    return None if intent.kind == "add" else _with_value(intent, intent.old)


def new_thing(intent: EditIntent) -> Referent | None:
    """The object after the edit; None for a removed one."""
    return None if intent.kind == "remove" else _with_value(intent, intent.new)


def _with_value(intent: EditIntent, value: str) -> Referent:
    if not value:
        return intent.target
    if intent.kind in ("color", "shape"):
        return Referent.model_validate(intent.target.model_dump() | {intent.kind: value})
    color, _, shape = value.partition(" ")
    return intent.target.model_copy(update={"color": color, "shape": shape})


def _touches(fact: Fact, intent: EditIntent) -> bool:
    """Whether the edit changes the thing that the fact is about."""
    if intent.kind == "background" or fact.attribute == "background":
        return intent.kind == fact.attribute
    gone = old_thing(intent)
    return gone is not None and _compatible(description(fact), gone)


def _cites_background(claim: Claim, value: str) -> bool:
    return any(fact.attribute == "background" and fact.value == value for fact in claim.facts)


def _mentions(claim: Claim, thing: Referent) -> int:
    """How many facts can be about the thing."""
    about_objects = (fact for fact in claim.facts if fact.attribute != "background")
    return sum(_compatible(description(fact), thing) for fact in about_objects)


def _compatible(one: Referent, other: Referent) -> bool:
    """Whether two descriptions can mean the same object: no attribute that both name differs."""
    pairs = zip(one.model_dump().values(), other.model_dump().values(), strict=True)
    return all(None in pair or pair[0] == pair[1] for pair in pairs)
