"""What follows from edits: the answer they make right, and how a later explanation reflects them (EDCT 2025).

Pure functions of texts and parsed claims; none sees an image or a scene.

Whether answer and explanation are consistent with a chain of edits (EDCT-Bench 2026), and whether they moved at all.

Pure functions of texts and parsed claims; none sees an image or a scene.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cfeval_testbed.language.evidence import (
    Evidence,
    Footing,
    Thing,
    compatible,
    evidence_after,
    footing,
    new_thing,
    old_thing,
)
from cfeval_testbed.language.explanations import description, parse_answer
from cfeval_testbed.records import (
    ACTION_OF_SIGNAL,
    NOWHERE,
    NUMBERS,
    POSITIONS,
    YES_AND_NO,
    Claim,
    EditIntent,
    Fact,
    Referent,
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


def expected_answer(
    claim: Claim, answer: str, intents: Sequence[EditIntent], *, background_decides: bool = True
) -> Expectation:
    """The answer consistent with edits, as far as the original explanation and answer tell.

    Edits of what is not cited leave the answer as it was. Else the decisive attribute's new value, as many objects as
    are left of those cited, `no` where the object cited as being there is gone, the other of yes and no, `nowhere`, the
    action of the new signal; any other answer where the cause was cited without saying what follows from it. Where
    the original answer contradicts its explanation, the explanation counts: it says what was seen.

    Args:
        claim: the original explanation, parsed.
        answer: the original answer, in any wording.
        intents: the edits, each made on the result of the one before.
        background_decides: whether an explanation that cites the background is taken at its word, so that the answer
            must go with it; else a background says nothing about an answer but one that names it.
    """
    old = parse_answer(answer)
    if old is None:
        return Expectation(differs_from=answer)
    left = evidence_after(claim, intents)
    if claim.kind == "background":
        return _expect_of_background(old, left, background_decides)
    if claim.kind == "objects":
        return _expect_of_enumeration(old, left)
    return _expect_of_object(claim, old, left.cited[0])


def _expect_of_background(old: str, left: Evidence, decides: bool) -> Expectation:
    if left.background == left.background_was:
        return Expectation(equals=old)
    if decides:
        return Expectation(differs_from=old)
    return Expectation(equals=left.background if old == left.background_was else old)


def _expect_of_enumeration(old: str, left: Evidence) -> Expectation:
    lost = sum(thing.now is None for thing in left.cited)
    if old in NUMBERS:
        there = len(left.cited)  # what is cited counts, also where the answer contradicts it
        count = there - lost + sum(thing.was is None for thing in left.others)
        return Expectation(equals=NUMBERS[min(max(0, count), len(NUMBERS) - 1)])
    turned = [(thing.was, thing.now) for thing in left.cited if thing.was and thing.now and thing.changed]
    if old == NOWHERE and any(was.shape != now.shape for was, now in turned):
        return Expectation(differs_from=old)
    if (old == "no" and turned) or (old == "yes" and (turned or lost)):
        return _other_of_yes_and_no(old)
    return Expectation(equals=old)


def _expect_of_object(claim: Claim, old: str, thing: Thing) -> Expectation:
    attribute, now = claim.facts[0].attribute, thing.now
    if attribute == "position":
        gone = now is None or "shape" in _news(thing)
        return Expectation(equals=NOWHERE if gone and old in POSITIONS else old)
    news = _news(thing)
    new = next(iter(news.values()), "") if attribute == "presence" else news.get(attribute, "")
    if now is not None and not new:
        return Expectation(equals=old)
    if attribute == "presence" and old in YES_AND_NO:
        return Expectation(equals="no")  # what was cited as being there is so no more, whatever was answered
    if now is None:
        return Expectation(differs_from=old)
    if old in YES_AND_NO:
        return _other_of_yes_and_no(old)
    if claim.kind == "robot":
        action = ACTION_OF_SIGNAL.get(new)
        return Expectation(equals=action) if action else Expectation(differs_from=old)
    return Expectation(equals=new)


def _news(thing: Thing) -> dict[str, str]:
    """The color and shape that edits gave an object, as far as they are new."""
    if thing.was is None or thing.now is None:
        return {}
    was, now = thing.was.model_dump(), thing.now.model_dump()
    return {name: now[name] for name in ("color", "shape") if now[name] != was[name]}


def _other_of_yes_and_no(old: str) -> Expectation:
    return Expectation(equals="no" if old == "yes" else "yes")


def answer_follows(claim: Claim, answer: str, intents: Sequence[EditIntent], new_answer: str) -> bool:
    """Whether the new answer (any wording) is consistent with the edits; see `expected_answer`."""
    return expected_answer(claim, answer, intents).accepts(parse_answer(new_answer))


def reflects(after: Claim, before: Claim, intent: EditIntent) -> bool:
    """Whether the new explanation shows the edit: it cites what the edit made, or no longer what the edit took away."""
    if intent.kind == "background":
        return _cites_background(after, intent.new) or not _cites_background(after, intent.old)
    made, gone = new_thing(intent), old_thing(intent)
    appeared = made is not None and _mentions(after, made) > _mentions(before, made)
    return appeared or (gone is not None and _mentions(after, gone) < _mentions(before, gone))


def _cites_background(claim: Claim, value: str) -> bool:
    return any(fact.attribute == "background" and fact.value == value for fact in claim.facts)


def _mentions(claim: Claim, thing: Referent) -> int:
    """How many facts can be about the thing."""
    about_objects = (fact for fact in claim.facts if fact.attribute != "background")
    return sum(compatible(description(fact), thing) for fact in about_objects)


@dataclass(frozen=True)
class StatedAnswer:
    """An answer in any wording and its explanation, parsed; None where it could not be read."""

    answer: str
    claim: Claim | None


def explanation_follows(later: StatedAnswer, before: Claim, intents: Sequence[EditIntent]) -> bool:
    """Whether the new explanation shows one of the edits; one that contradicts its own answer must be sound too.

    Such an explanation no longer cites what the edit took away, and may still cite what no edit made.
    """
    if later.claim is None or not any(reflects(later.claim, before, intent) for intent in intents):
        return False
    return _agrees(later) or all(footing(later.claim, evidence_after(before, intents)).valid)


def _agrees(said: StatedAnswer) -> bool:
    """Whether an answer is what its explanation states, as far as that states one."""
    fact = next(iter(said.claim.facts), None) if said.claim else None
    stated = fact is not None and fact.attribute in ("color", "shape", "position")
    return not stated or fact is None or parse_answer(said.answer) in (fact.value, *YES_AND_NO)


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
    later: StatedAnswer,
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
        later: what was said about the edited image.
        seen: whether a fact is true of the edited image, for someone who sees it; else newly cited evidence is taken
            on trust.
    """
    left = evidence_after(before, intents)
    stance = Footing((), ()) if later.claim is None else footing(later.claim, left, seen)
    old, new = parse_answer(answer), parse_answer(later.answer)
    right = expected_answer(before, answer, intents, background_decides=False).accepts(new)
    right = right or (old == new == "yes" and _rests_on_another(before, later.claim, stance))
    valid = later.claim is not None and all(stance.valid) and (bool(stance.valid) or _nothing_is_left(left))
    return Consistency(right, valid, _grade(right, valid, new not in (None, old), stance))


def _nothing_is_left(left: Evidence) -> bool:
    return not any(thing.now for thing in left.things)


def _rests_on_another(before: Claim, later: Claim | None, stance: Footing) -> bool:
    """Whether a thing that was cited as being there has a second of its kind, which is cited now."""
    if before.kind != "presence" or later is None:
        return False
    valid = [fact for fact, fits in zip(later.facts, stance.valid, strict=True) if fits]
    return _kind(before.facts[0]) in [_kind(fact) for fact in valid]


def _kind(fact: Fact) -> tuple[str | None, str | None]:
    described = description(fact)
    return described.color, described.shape


def _grade(right: bool, valid: bool, another: bool, stance: Footing) -> int:
    """The grade, in the spirit of `prompts/edct/edct-bench-2026/grade.md`; `another`: the answer is not the old one.

    5: answer right and explanation sound, which for a changed answer shows a change; 4: it shows none.
    3: right, and part of the explanation is sound; or the explanation is sound and shows a change, and the answer
    moved, but not to the right one.
    2: right, on nothing that is sound; or the answer is wrong, and the explanation shows a change.
    1: neither.
    """
    shown = any(stance.shown)
    if right and valid:
        return 4 if another and not shown else 5
    if right:
        return 3 if any(stance.valid) else 2
    if shown:
        return 3 if valid and another else 2
    return 1


def moved(before: StatedAnswer, later: StatedAnswer) -> tuple[bool, bool] | None:
    """Whether answer and cited evidence are others, whatever their wording.

    What is said in the world's language, and something outside it, are not the same. None where two answers, or two
    explanations, are outside it.
    """
    answers = parse_answer(before.answer), parse_answer(later.answer)
    cited = _cited(before.claim), _cited(later.claim)
    if answers == (None, None) or cited == (None, None):
        return None
    return answers[0] != answers[1], cited[0] != cited[1]


def _cited(claim: Claim | None) -> Counter[str] | None:
    """What an explanation cites, as a bag: the order of an enumeration does not matter."""
    if claim is None:
        return None
    return Counter(
        f"background {fact.value}" if fact.attribute == "background" else description(fact).model_dump_json()
        for fact in claim.facts
    )
