"""Which edits test an explanation: of what it cites, alone or as a chain, and of what it leaves out.

Pure functions; only what is left out is looked up in a scene, since it stands in no text.
"""

import random
from collections.abc import Iterator, Sequence

from cfeval_testbed.language.evidence import evidence_after
from cfeval_testbed.language.explanations import description, parse_answer, referent_phrase
from cfeval_testbed.language.questions import Question, parse_question, well_posed
from cfeval_testbed.language.reasoning import expected_answer
from cfeval_testbed.records import (
    ACTION_OF_SIGNAL,
    BACKGROUNDS,
    COLORS,
    EASY_VQA_COLORS,
    EASY_VQA_SHAPES,
    NOWHERE,
    SHAPES,
    Claim,
    EditIntent,
    Fact,
    Referent,
    Scene,
    Slot,
)
from cfeval_testbed.scenes import apply, matches, objects, resolve


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
    """Values that the edited object could take; an image whose object has no position is one of easy-VQA."""
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


def choose_chain(question: str, answer: str, claim: Claim, rng: random.Random, most: int) -> list[EditIntent]:
    """Up to `most` edits of distinct concepts that an explanation cites, each to be made on the result of the last.

    The first is that of `choose_edit`. Only an enumeration cites more than one thing; of that, each later edit changes
    one that is still as it was, as the answer asks for that the edits before make right.
    """
    edit = choose_edit(question, answer, claim, rng)
    chain: list[EditIntent] = []
    while edit is not None and len(chain) < most:
        chain.append(edit)
        edit = _next_edit(question, answer, claim, chain, rng) if claim.kind == "objects" else None
    return chain


def _next_edit(
    question: str, answer: str, claim: Claim, chain: Sequence[EditIntent], rng: random.Random
) -> EditIntent | None:
    """An edit of a listed object that those before left as it was, given the answer that they make right."""
    right = expected_answer(claim, answer, chain).equals or ""
    things = zip(claim.facts, evidence_after(claim, chain).cited, strict=True)
    left = tuple(fact for fact, thing in things if not thing.changed)
    return choose_edit(question, right, claim.model_copy(update={"facts": left}), rng)


def uncited_edits(question: Question, claim: Claim, scene: Scene, rng: random.Random) -> list[EditIntent]:
    """An edit, each of the original, of every object that an explanation does not cite, and of the background.

    How a thing is changed (color, shape, gone), and into what, is as likely as anything else that leaves the question
    well posed. There is none where the explanation leaves out nothing: an enumeration cites every object.
    """
    return [rng.choice(rng.choice(edits)) for edits in _uncited(question, claim, scene) if edits]


def cited_things(claim: Claim, scene: Scene) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Everything that an explanation cites, in words, each once; and those of them that are not in the scene.

    A background that is cited is there, whatever its color is said to be.
    """
    cited: dict[str, bool] = {}
    for fact in claim.facts:
        if fact.attribute == "background":
            cited["the background"] = True
        else:
            seen = fact.referent.model_copy(update={"color": None}) if fact.attribute == "presence" else fact.referent
            cited[referent_phrase(seen)] = bool(resolve(scene, seen))
    return tuple(cited), tuple(thing for thing, there in cited.items() if not there)


def _uncited(question: Question, claim: Claim, scene: Scene) -> Iterator[list[list[EditIntent]]]:
    """Of each thing that an explanation leaves out, the edits that leave the question well posed, by kind."""
    for position, slot in objects(scene):
        if not _cites(claim, position, slot):
            sound = [
                [edit for edit in edits if well_posed(question, apply(scene, edit))]
                for edits in _edits_of(position, slot)
            ]
            yield [edits for edits in sound if edits]
    if all(fact.attribute != "background" for fact in claim.facts):
        yield [background_edits(scene.background)]


def _cites(claim: Claim, position: str, slot: Slot) -> bool:
    """Whether some fact can be about the object: it names its place, or all else that it says fits."""
    if claim.kind == "objects":
        return True
    facts = [fact for fact in claim.facts if fact.attribute != "background"]
    return any(description(fact).position == position or matches(fact.referent, position, slot) for fact in facts)


def _edits_of(position: str, slot: Slot) -> Iterator[list[EditIntent]]:
    """All recolorings, all changes of shape, and the removal of an object."""
    whole = Referent.model_validate({"color": slot.color, "shape": slot.shape, "position": position})
    for kind, values, old in (("color", COLORS, slot.color), ("shape", SHAPES, slot.shape)):
        target = whole.model_copy(update={kind: None})
        yield [
            EditIntent.model_validate({"kind": kind, "target": target, "old": old, "new": new})
            for new in values
            if new != old
        ]
    yield [EditIntent(kind="remove", target=whole)]


def background_edits(old: str) -> list[EditIntent]:
    """The edits that put another background in the place of one."""
    return [EditIntent(kind="background", old=old, new=new) for new in BACKGROUNDS if new != old]
