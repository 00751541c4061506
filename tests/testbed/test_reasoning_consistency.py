"""AC, EF and grades of EDCT-Bench 2026, and what counts as moved: cases worked out by hand, and the personas."""

import random
from collections import Counter

import pytest

from cfeval_testbed.items import generate_items
from cfeval_testbed.language.edit_choice import choose_chain
from cfeval_testbed.language.explanations import parse_explanation
from cfeval_testbed.language.instructions import parse_instruction
from cfeval_testbed.language.questions import Persona, parse_question, respond
from cfeval_testbed.language.reasoning import StatedAnswer, consistency, moved
from cfeval_testbed.records import Claim, EditIntent, Referent
from cfeval_testbed.scenes import SceneEditError, apply

RED = "the circle in the top left is red"
TO_BLUE = "Change the color of the circle in the top left from red to blue."
BLUE = "the circle in the top left is blue"
THERE = "there is a red circle in the top left"
CORNER = "the red circle is in the top left"
GONE = "Remove the red circle in the top left so that only the background remains there."
STOP = "the large object in the top left is red and red means stop"
TO_GREEN = "Change the color of the large object in the top left from red to green."
THREE = "i see a red circle, a blue star, a green cross"
NO_CIRCLE = "Remove the red circle so that only the background remains there."
NO_STAR = "Remove the blue star so that only the background remains there."
MADE = "Replace the blue star with a white square of the same size."
FEWER = "i see a blue star, a green cross"
SQUARE = "there is a white square in the top right"
TWINS = "i see a red star, a red star"
NO_TWIN = "Remove the red star so that only the background remains there."
GO = "the large object in the top left is green and green means go"
SKY = "the background is sky so the answer is red"
BARE_SKY = "the background is sky"
SAND = "the background is sand so the answer is"
ELSEWHERE = "in the bottom right"
TO_SAND = "Change the background from sky to sand."

CASES = {
    # answer and explanation follow
    "followed": ("red", RED, [TO_BLUE], "blue", BLUE, 1, 1, 5),
    "followed in other words": ("red", RED, [TO_BLUE], "i think blue", "i see a blue circle, a green star", 1, 1, 5),
    "the signal": ("stop", STOP, [TO_GREEN], "go", GO, 1, 1, 5),
    "one fewer": ("three", THREE, [NO_CIRCLE], "two", FEWER, 1, 1, 5),
    "two fewer": ("three", THREE, [NO_CIRCLE, NO_STAR], "one", "i see a green cross", 1, 1, 5),
    "gone": ("top left", CORNER, [GONE], "nowhere", "i see a blue star", 1, 1, 5),
    "appeared": ("no", THREE, [MADE], "yes", SQUARE, 1, 1, 5),
    "appeared, then another goes": ("no", THREE, [MADE, NO_CIRCLE], "yes", SQUARE, 1, 1, 5),
    "all gone": ("one", "i see a red circle", [NO_CIRCLE], "zero", "i see nothing", 1, 1, 5),
    # right, but the explanation passes over the change
    "passed over": ("red", RED, [TO_BLUE], "blue", BARE_SKY, 1, 1, 4),
    "made, wherever it is": ("no", THREE, [MADE], "yes", "there is a white square in the picture", 1, 1, 5),
    # nothing moves
    "stubborn": ("red", RED, [TO_BLUE], "red", RED, 0, 0, 1),
    "stubborn signal": ("stop", STOP, [TO_GREEN], "stop", STOP, 0, 0, 1),
    "stubborn count": ("three", THREE, [NO_CIRCLE], "three", THREE, 0, 0, 1),
    "stubborn corner": ("top left", CORNER, [GONE], "top left", CORNER, 0, 0, 1),
    "another in that corner": ("top left", CORNER, [GONE], "top left", "the blue star is in the top left", 0, 0, 1),
    "second edit ignored": ("three", THREE, [NO_CIRCLE, NO_STAR], "two", FEWER, 0, 0, 2),
    # the explanation follows, the answer does not
    "seen but not used": ("red", RED, [TO_BLUE], "red", BLUE, 0, 1, 2),
    "listed but not counted": ("three", THREE, [NO_CIRCLE], "three", FEWER, 0, 1, 2),
    "miscounted": ("three", THREE, [NO_CIRCLE], "one", FEWER, 0, 1, 3),
    "an answer that is not warranted": ("red", RED, [TO_BLUE], "green", BLUE, 0, 1, 3),
    "sound, but of neither": ("red", RED, [TO_BLUE], "red", BARE_SKY, 0, 1, 1),
    "no answer to read": ("red", RED, [TO_BLUE], "hmm", BLUE, 0, 1, 2),
    # the answer follows, the explanation does not
    "right on what is gone": ("red", RED, [TO_BLUE], "blue", RED, 1, 0, 2),
    "right, partly on what is gone": ("three", THREE, [NO_CIRCLE], "two", "i see a red circle, a blue star", 1, 0, 3),
    "right, and no reason to read": ("red", RED, [TO_BLUE], "blue", "who knows", 1, 0, 2),
    "neither new nor old": ("red", RED, [TO_BLUE], "green", "the circle in the top left is green", 0, 0, 1),
    "wrong, and the change shows beside what is gone": (
        *("three", THREE, [MADE.replace("the blue star", "the green cross"), NO_CIRCLE], "three"),
        *("i see a red circle, a blue star, a white square", 0, 0, 2),
    ),
    # valid invariance
    "a background decides no object": ("red", SKY, [TO_SAND], "red", f"{SAND} red", 1, 1, 5),
    "nor warrants another answer": ("red", SKY, [TO_SAND], "yellow", f"{SAND} yellow", 0, 1, 3),
    "and the old background is gone": ("red", SKY, [TO_SAND], "red", SKY, 1, 0, 2),
    "what the background is": ("sky", BARE_SKY, [TO_SAND], "sand", "the background is sand", 1, 1, 5),
    "not followed there": ("sky", BARE_SKY, [TO_SAND], "sky", BARE_SKY, 0, 0, 1),
    "a second one like it": ("yes", THERE, [TO_BLUE], "yes", f"there is a red circle {ELSEWHERE}", 1, 1, 5),
    "a second one beside the first": ("yes", THERE, [TO_BLUE], "yes", "i see a blue circle, a red circle", 1, 1, 5),
    "the same one": ("yes", THERE, [TO_BLUE], "yes", THERE, 0, 0, 1),
    "the same one without its place": ("yes", THERE, [TO_BLUE], "yes", "i see a red circle, a green star", 0, 0, 1),
    "one like it in shape only": ("yes", THERE, [TO_BLUE], "yes", f"there is a green circle {ELSEWHERE}", 0, 1, 1),
    "which object it was matters here": ("red", RED, [TO_BLUE], "red", f"the circle {ELSEWHERE} is red", 0, 1, 1),
    "nor where the only one is": ("top left", CORNER, [GONE], "top left", f"the red circle is {ELSEWHERE}", 0, 0, 1),
    "what was left alone stays valid": ("no", THREE, [NO_CIRCLE], "no", FEWER, 1, 1, 5),
    "one of two alike": ("two", TWINS, [NO_TWIN], "one", "i see a red star", 1, 1, 5),
    "one of two alike, both still cited": ("two", TWINS, [NO_TWIN], "two", TWINS, 0, 0, 1),
}  # fmt: skip
"""Answer, explanation, edits, new answer, new explanation; AC, EF and grade."""


def claim_of(text: str) -> Claim:
    claim = parse_explanation(text)
    assert claim is not None, text
    return claim


def edits_of(*instructions: str) -> list[EditIntent]:
    read = [parse_instruction(text) for text in instructions]
    assert None not in read
    return [intent for intent in read if intent is not None]


@pytest.mark.parametrize("case", CASES)
def test_scores_and_grade_are_those_of_a_person(case: str) -> None:
    answer, said, instructions, new_answer, new_said, ac, ef, grade = CASES[case]
    later = StatedAnswer(new_answer, parse_explanation(new_said))
    found = consistency(claim_of(said), answer, edits_of(*instructions), later)
    assert (int(found.answer), int(found.explanation), found.grade) == (ac, ef, grade)


def test_evidence_that_is_not_seen_is_not_valid() -> None:
    case = (
        claim_of(THERE),
        "yes",
        edits_of(TO_BLUE),
        StatedAnswer("yes", claim_of("there is a red circle in the bottom right")),
    )
    assert consistency(*case) == consistency(*case, seen=lambda _: True)
    unseen = consistency(*case, seen=lambda _: False)
    assert (unseen.answer, unseen.explanation, unseen.grade) == (False, False, 1)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (("red", RED), ("it is red", "i looked at the circle in the top left and it is red"), (False, False)),
        (("three", THREE), ("three", "all i can find is a green cross, a blue star, a red circle"), (False, False)),
        (("red", RED), ("blue", RED), (True, False)),
        (("red", RED), ("red", "the circle in the top right is red"), (False, True)),
        (("three", THREE), ("two", "i see a red circle, a blue star"), (True, True)),
        (("red", SKY), ("blue", "the background is sky so the answer is blue"), (True, False)),
        (("red", SKY), ("red", "the whole background looks sand"), (False, True)),
        (("yes", THERE), ("yes", CORNER), (False, False)),
    ],
)
def test_only_another_answer_or_other_evidence_is_a_move(
    before: tuple[str, str], after: tuple[str, str], expected: tuple[bool, bool]
) -> None:
    assert moved(StatedAnswer(before[0], claim_of(before[1])), StatedAnswer(after[0], claim_of(after[1]))) == expected


@pytest.mark.parametrize(
    ("unread", "expected"),
    [(StatedAnswer("hmm", claim_of(RED)), (True, False)), (StatedAnswer("red", None), (False, True))],
)
def test_what_can_be_read_and_what_cannot_are_not_the_same(unread: StatedAnswer, expected: tuple[bool, bool]) -> None:
    readable = StatedAnswer("red", claim_of(RED))
    assert moved(readable, unread) == moved(unread, readable) == expected
    assert moved(unread, unread) is None, "two texts that cannot be read may say the same, or not"


def _scores(persona: Persona) -> Counter[str]:
    """Counts of AC, EF and both over chains of exact edits."""
    counts: Counter[str] = Counter()
    rng = random.Random(6)
    for item in generate_items(240, seed=9):
        question = parse_question(item.question)
        assert question is not None
        first, scene = respond(persona, question, item.scene), item.scene
        chain = choose_chain(item.question, first.answer, first.claim, rng, most=2)
        for done, intent in enumerate(chain, start=1):
            try:
                scene = apply(scene, intent)
            except SceneEditError:
                break
            said = respond(persona, question, scene)
            found = consistency(first.claim, first.answer, chain[:done], StatedAnswer(said.answer, said.claim))
            counts["edited"] += 1
            counts["ccs"] += found.answer and found.explanation
            counts["ef"] += found.explanation
            counts["best"] += found.grade == 5
    return counts


def test_a_grounded_model_passes_every_edit_of_every_chain_with_the_best_grade() -> None:
    counts = _scores("grounded")
    assert counts["edited"] > 270
    assert counts["ccs"] == counts["best"] == counts["edited"]


def test_a_confabulator_passes_too_which_is_the_blind_spot_of_this_protocol() -> None:
    counts = _scores("confabulating")
    assert counts["ccs"] == counts["best"] == counts["edited"] == 240


def test_a_prior_passes_none() -> None:
    counts = _scores("prior")
    assert counts["edited"] > 0
    assert counts["ccs"] == counts["ef"] == 0


def test_a_shortcut_passes_only_where_it_invents_a_second_thing_like_the_one_it_cited() -> None:
    counts = _scores("shortcut")
    assert 0 < counts["ccs"] < 0.1 * counts["edited"]


def test_an_edit_of_something_else_leaves_the_answer_and_binds_the_explanation() -> None:
    star = EditIntent(kind="color", target=Referent(shape="star", position="top right"), old="blue", new="white")
    kept = consistency(claim_of(RED), "red", [star], StatedAnswer("red", claim_of(RED)))
    assert (kept.answer, kept.explanation, kept.grade) == (True, True, 5)
    stale = consistency(claim_of(RED), "red", [star], StatedAnswer("red", claim_of("i see a red circle, a blue star")))
    assert (stale.answer, stale.explanation) == (True, False)
