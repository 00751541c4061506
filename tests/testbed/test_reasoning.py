"""What follows from an edit, worked out by hand and checked against the personas' known behaviour."""

import random
from collections import Counter

import pytest

from cfeval_testbed.items import generate_items
from cfeval_testbed.language.edit_choice import choose_edit
from cfeval_testbed.language.explanations import background_claim, object_claim, objects_claim
from cfeval_testbed.language.instructions import describe, parse_instruction
from cfeval_testbed.language.questions import Persona, parse_question, respond
from cfeval_testbed.language.reasoning import (
    StatedAnswer,
    answer_follows,
    expected_answer,
    explanation_follows,
    reflects,
)
from cfeval_testbed.records import Claim, EditIntent, Referent
from cfeval_testbed.scenes import SceneEditError, apply

TOP_LEFT_CIRCLE = Referent(shape="circle", position="top left")
RECOLOR = EditIntent(kind="color", target=TOP_LEFT_CIRCLE, old="red", new="green")
RED_CIRCLE = object_claim("color", "red", "circle", "top left")


@pytest.mark.parametrize(
    ("claim", "answer", "intent", "accepted", "rejected"),
    [
        (RED_CIRCLE, "it is red", RECOLOR, "green", "red"),
        (object_claim("presence", "red", "circle", "top left"), "yes", RECOLOR, "no", "yes"),
        (
            object_claim("robot", "red", None, "top left", "stop"),
            "stop",
            EditIntent(kind="color", target=Referent(size="large", position="top left"), old="red", new="blue"),
            "turn",
            "stop",
        ),
        (
            objects_claim([("red", "circle"), ("blue", "star")]),
            "two",
            EditIntent(kind="remove", target=Referent(color="blue", shape="star")),
            "one",
            "two",
        ),
        (
            objects_claim([("red", "circle")]),
            "no",
            EditIntent(kind="object", target=Referent(color="red", shape="circle"), new="white cross"),
            "yes",
            "no",
        ),
        (
            object_claim("position", "red", "circle", "top left"),
            "top left",
            EditIntent(kind="remove", target=Referent(color="red", shape="circle", position="top left")),
            "nowhere",
            "top left",
        ),
        (background_claim("sky", "red"), "red", EditIntent(kind="background", old="sky", new="mint"), "green", "red"),
        (RED_CIRCLE, "red", EditIntent(kind="background", old="sky", new="mint"), "red", "green"),
        (
            RED_CIRCLE,
            "red",
            EditIntent(kind="color", target=Referent(shape="star", position="top right"), old="blue", new="green"),
            "red",
            "green",
        ),
    ],
)
def test_the_answer_that_an_edit_makes_right(
    claim: Claim, answer: str, intent: EditIntent, accepted: str, rejected: str
) -> None:
    expectation = expected_answer(claim, answer, [intent])
    assert expectation.accepts(accepted)
    assert not expectation.accepts(rejected)
    assert not expectation.accepts(None)
    assert answer_follows(claim, answer, [intent], f"i think {accepted}")


@pytest.mark.parametrize(
    ("after", "reflected"),
    [
        (object_claim("color", "green", "circle", "top left"), True),
        (objects_claim([("green", "circle")]), True),
        (RED_CIRCLE, False),
        (objects_claim([("red", "circle")]), False),
        (background_claim("sky"), True),
    ],
)
def test_an_explanation_reflects_a_recoloring(after: Claim, reflected: bool) -> None:
    assert reflects(after, RED_CIRCLE, RECOLOR) is reflected


def test_one_of_two_equal_objects_that_goes_is_noticed() -> None:
    before = objects_claim([("red", "circle"), ("red", "circle")])
    removal = EditIntent(kind="remove", target=Referent(color="red", shape="circle"))
    assert reflects(objects_claim([("red", "circle")]), before, removal)
    assert not reflects(before, before, removal)


def test_a_chain_makes_right_what_its_edits_together_lead_to() -> None:
    three = objects_claim([("red", "circle"), ("blue", "star"), ("green", "cross")])
    gone = [EditIntent(kind="remove", target=Referent(color=color)) for color in ("red", "green")]
    assert expected_answer(three, "three", gone[:1]).equals == "two"
    assert expected_answer(three, "three", gone).equals == "one"
    there = EditIntent(kind="object", target=Referent(color="blue", shape="star"), new="white cross")
    assert expected_answer(three, "no", [there]).equals == "yes"
    assert expected_answer(three, "no", [there, gone[0]]).equals == "yes", "another object than the one that was made"
    back = EditIntent(kind="color", target=TOP_LEFT_CIRCLE, old="green", new="red")
    assert expected_answer(RED_CIRCLE, "red", [RECOLOR, back]).equals == "red"


def test_where_answer_and_explanation_contradict_the_explanation_says_what_was_there() -> None:
    two = objects_claim([("red", "circle"), ("blue", "star")])
    star = EditIntent(kind="remove", target=Referent(color="blue", shape="star"))
    assert expected_answer(two, "one", [star]).equals == "one", "of two objects one is left, whatever was counted"
    assert expected_answer(two, "four", [star]).equals == "one"
    assert expected_answer(two, "two", [star]).equals == "one"
    assert expected_answer(objects_claim([]), "two", [star]).equals == "zero"
    cited = object_claim("presence", "red", "circle", "top left")
    gone = EditIntent(kind="remove", target=TOP_LEFT_CIRCLE)
    for answer in ("yes", "no"):
        assert expected_answer(cited, answer, [gone]).equals == "no", "what was there is gone"
        assert expected_answer(cited, answer, [RECOLOR]).equals == "no"


def test_an_explanation_that_contradicts_its_answer_must_cite_what_the_edit_made() -> None:
    green, blue = (object_claim("color", color, "circle", "top left") for color in ("green", "blue"))
    assert explanation_follows(StatedAnswer("green", green), RED_CIRCLE, [RECOLOR])
    assert explanation_follows(StatedAnswer("blue", green), RED_CIRCLE, [RECOLOR]), "sound, though the answer is not"
    assert not explanation_follows(StatedAnswer("green", blue), RED_CIRCLE, [RECOLOR]), "no edit made a blue circle"
    assert not explanation_follows(StatedAnswer("green", RED_CIRCLE), RED_CIRCLE, [RECOLOR])
    assert not explanation_follows(StatedAnswer("green", None), RED_CIRCLE, [RECOLOR])


def test_a_background_decides_only_for_who_takes_the_explanation_at_its_word() -> None:
    repainted = [EditIntent(kind="background", old="sky", new="mint")]
    because = background_claim("sky", "red")
    assert expected_answer(because, "red", repainted).differs_from == "red"
    assert expected_answer(because, "red", repainted, background_decides=False).equals == "red"
    asked = background_claim("sky")
    assert expected_answer(asked, "sky", repainted, background_decides=False).equals == "mint"


def _scores(persona: Persona, correlated: bool) -> Counter[str]:
    """Counts of consistent answers and reflecting explanations when scenes are edited exactly."""
    counts: Counter[str] = Counter()
    rng = random.Random(5)
    for item in generate_items(240, seed=9, correlated=correlated):
        question = parse_question(item.question)
        assert question is not None
        first = respond(persona, question, item.scene)
        counts["right"] += first.answer == item.answer
        intent = choose_edit(item.question, first.answer, first.claim, rng)
        assert intent is not None
        assert parse_instruction(describe(intent)[1]) == intent
        try:
            second = respond(persona, question, apply(item.scene, intent))
        except SceneEditError:
            continue
        counts["edited"] += 1
        counts["pcs"] += answer_follows(first.claim, first.answer, [intent], second.answer)
        counts["ncc"] += reflects(second.claim, first.claim, intent)
    return counts


@pytest.mark.parametrize("correlated", [True, False])
def test_a_grounded_model_passes_every_edit(correlated: bool) -> None:
    counts = _scores("grounded", correlated)
    assert counts["right"] == 240
    assert counts["edited"] >= 236
    assert counts["pcs"] >= counts["edited"] - 4
    assert counts["ncc"] == counts["edited"]


def test_a_shortcut_is_right_where_background_and_truth_agree_and_never_follows_an_edit() -> None:
    counts = _scores("shortcut", correlated=True)
    assert counts["right"] == 240
    assert counts["pcs"] == 0


def test_a_confabulator_is_right_names_the_new_background_and_never_follows() -> None:
    counts = _scores("confabulating", correlated=True)
    assert (counts["right"], counts["pcs"], counts["ncc"]) == (240, 0, 240)


def test_a_prior_never_follows() -> None:
    counts = _scores("prior", correlated=False)
    assert counts["pcs"] == counts["ncc"] == 0
