"""Whether answer and explanation are consistent with a chain of edits (EDCT-Bench 2026), and whether they moved at all.

Pure functions of texts and parsed claims; none sees a picture or a scene.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cfeval.records.world import Claim, EditIntent, Fact
from cfeval.world.evidence import Evidence, Footing, evidence_after, footing
from cfeval.world.language import description, parse_answer
from cfeval.world.reasoning import expected_answer


@dataclass(frozen=True)
class Said:
    """An answer in any wording and its explanation, parsed; None where it could not be read."""

    answer: str
    claim: Claim | None


@dataclass(frozen=True)
class Consistency:
    """AC, EF, and the grade from 1 to 5."""

    answer: bool
    explanation: bool
    grade: int


def consistency(
    before: Claim,
    answer: str,
    intents: Sequence[EditIntent],
    later: Said,
    seen: Callable[[Fact], bool] = lambda _: True,
) -> Consistency:
    """AC, EF and grade of what was said after a chain of edits; an explanation that cannot be read is no evidence.

    AC: a changed answer is right only where the edits warrant it, and if it is the one that they warrant (see
    `expected_answer`; the background warrants no other answer to a question about an object). An unchanged answer is
    right where they warrant no other, and a `yes` also where the later explanation cites, soundly, another object like
    the one that was cited before. EF: every fact of the later explanation is sound (see `footing`).

    Args:
        before: the original explanation.
        answer: the original answer, in any wording.
        intents: the edits so far.
        later: what was said about the edited picture.
        seen: whether a fact is true of the edited picture, for someone who sees it; else newly cited evidence is taken
            on trust.
    """
    left = evidence_after(before, intents)
    stance = Footing((), ()) if later.claim is None else footing(later.claim, left, seen)
    old, new = parse_answer(answer), parse_answer(later.answer)
    right = expected_answer(before, answer, intents, background_decides=False).accepts(new)
    right = right or (old == new == "yes" and _rests_on_another(before, later.claim, stance))
    sound = later.claim is not None and all(stance.sound) and (bool(stance.sound) or _nothing_is_left(left))
    return Consistency(right, sound, _grade(right, sound, new not in (None, old), stance))


def _nothing_is_left(left: Evidence) -> bool:
    return not any(thing.now for thing in left.things)


def _rests_on_another(before: Claim, later: Claim | None, stance: Footing) -> bool:
    """Whether a thing that was cited as being there has a second of its kind, which is cited now."""
    if before.kind != "presence" or later is None:
        return False
    sound = [fact for fact, valid in zip(later.facts, stance.sound, strict=True) if valid]
    return _kind(before.facts[0]) in [_kind(fact) for fact in sound]


def _kind(fact: Fact) -> tuple[str | None, str | None]:
    described = description(fact)
    return described.color, described.shape


def _grade(right: bool, sound: bool, another: bool, stance: Footing) -> int:
    """The grade, in the spirit of `prompts/edct/edct-bench-2026/grade.md`; `another`: the answer is not the old one.

    5: answer right and explanation sound, which for a changed answer shows a change; 4: it shows none.
    3: right, and part of the explanation is sound; or the explanation is sound and shows a change, and the answer
    moved, but not to the right one.
    2: right, on nothing that is sound; or the answer is wrong, and the explanation shows a change.
    1: neither.
    """
    shown = any(stance.shown)
    if right and sound:
        return 4 if another and not shown else 5
    if right:
        return 3 if any(stance.sound) else 2
    if shown:
        return 3 if sound and another else 2
    return 1


def moved(before: Said, later: Said) -> tuple[bool, bool] | None:
    """Whether answer and cited evidence are others, whatever their wording; None where something cannot be read."""
    answers = parse_answer(before.answer), parse_answer(later.answer)
    if None in answers or before.claim is None or later.claim is None:
        return None
    return answers[0] != answers[1], _cited(before.claim) != _cited(later.claim)


def _cited(claim: Claim) -> Counter[str]:
    """What an explanation cites, as a bag: the order of an enumeration does not matter."""
    return Counter(
        f"background {fact.value}" if fact.attribute == "background" else description(fact).model_dump_json()
        for fact in claim.facts
    )
