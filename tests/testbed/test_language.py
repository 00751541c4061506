"""The language: everything that can be written is read back as it was meant, and nothing else is read."""

import random

import pytest
from hypothesis import given

from cfeval_testbed.items import generate_items
from cfeval_testbed.language.explanations import (
    ANSWER_TEMPLATES,
    CANONICAL_ANSWERS,
    EXPLANATION_TEMPLATES,
    background_claim,
    is_true,
    object_claim,
    objects_claim,
    parse_answer,
    parse_explanation,
    parse_referent,
    referent_phrase,
    word_answer,
    word_claim,
    wordings,
)
from cfeval_testbed.language.instructions import describe, parse_instruction
from cfeval_testbed.language.questions import PERSONAS, QUESTION_TEMPLATES, Question, parse_question, respond
from cfeval_testbed.language.questions import wordings as question_wordings
from cfeval_testbed.records import Claim, EditIntent, Referent
from tests.slow import examples
from tests.testbed.strategies import intents, referents

CLAIMS = [
    object_claim("color", "orange", "circle", "top left"),
    object_claim("color", "teal", "rectangle", None),
    object_claim("shape", "red", "star", "bottom right"),
    object_claim("shape", "gray", "triangle", None),
    object_claim("presence", "white", "cross", "top right"),
    object_claim("position", "black", "square", "bottom left"),
    object_claim("robot", "green", None, "top left", "go"),
    objects_claim([("red", "circle"), ("orange", "star"), ("red", "circle")]),
    objects_claim([]),
    background_claim("sky"),
    background_claim("mint", "top left"),
]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.kind}-{len(claim.facts)}")
def test_every_wording_of_a_claim_is_read_back(claim: Claim) -> None:
    assert all(parse_explanation(text) == claim for text in wordings(claim))
    assert len(wordings(claim)) >= 3


@pytest.mark.parametrize("template", ANSWER_TEMPLATES)
def test_every_wording_of_every_answer_is_read_back(template: str) -> None:
    assert all(parse_answer(template.format(answer=answer)) == answer for answer in CANONICAL_ANSWERS)


def test_every_template_has_at_least_three_wordings() -> None:
    assert all(len(templates) >= 3 for templates in EXPLANATION_TEMPLATES.values())
    assert all(len(templates) >= 3 for templates in QUESTION_TEMPLATES.values())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the circle is red because I say so",
        "the large object in the top left is red and green means go",
        "the large object in the top left is red and red means go",
        "there is a red circle in the top middle",
        "red",
    ],
)
def test_an_explanation_outside_the_language_is_not_read(text: str) -> None:
    assert parse_explanation(text) is None


@pytest.mark.parametrize("text", ["", "maybe red", "red blue", "it is", "top"])
def test_an_answer_outside_the_language_is_not_read(text: str) -> None:
    assert parse_answer(text) is None


def test_case_and_punctuation_do_not_matter() -> None:
    assert parse_answer(" It is RED. ") == "red"
    assert parse_explanation("I see a red circle, a blue star.") == objects_claim([("red", "circle"), ("blue", "star")])


@given(referents)
def test_a_phrase_points_at_what_it_was_written_for(referent: Referent) -> None:
    assert parse_referent(referent_phrase(referent)) == referent


@given(intents())
@examples(300)
def test_an_instruction_is_read_back_as_its_intent(intent: EditIntent) -> None:
    assert parse_instruction(describe(intent)[1]) == intent


@pytest.mark.parametrize("text", ["", "Make it nicer.", "Change the color of it from red to green."])
def test_another_instruction_is_not_read(text: str) -> None:
    assert parse_instruction(text) is None


def test_instructions_say_what_changes_what_stays_and_what_must_go() -> None:
    target = Referent(shape="circle", position="top left")
    concept, positive, negative = describe(EditIntent(kind="color", target=target, old="red", new="green"))
    assert concept == "red color of the circle in the top left"
    assert positive == (
        "Change the color of the circle in the top left from red to green. Keep everything else as it is."
    )
    assert negative == "a red circle in the top left"


@pytest.mark.parametrize(
    "question",
    [
        Question("color", shape="circle"),
        Question("shape", color="orange"),
        Question("position", shape="star"),
        Question("presence", color="orange", shape="cross"),
        Question("count"),
        Question("robot"),
        Question("background"),
    ],
    ids=lambda question: question.kind,
)
def test_every_wording_of_a_question_is_read_back(question: Question) -> None:
    assert all(parse_question(text) == question for text in question_wordings(question))


@pytest.mark.parametrize(
    ("text", "kind", "named"),
    [
        ("is there not a teal shape in the image?", "presence", ("teal", None)),
        ("is no rectangle present?", "presence", (None, "rectangle")),
        ("does the image contain a circle?", "presence", (None, "circle")),
        ("what is the color of the shape?", "color", (None, None)),
        ("what is the gray shape?", "shape", ("gray", None)),
    ],
)
def test_questions_of_easy_vqa_are_read(text: str, kind: str, named: tuple[str | None, str | None]) -> None:
    question = parse_question(text)
    assert question is not None
    assert (question.kind, (question.color, question.shape)) == (kind, named)


def test_a_grounded_reason_is_true_and_an_ungrounded_one_of_an_uncorrelated_scene_often_is_not() -> None:
    items = list(generate_items(120, seed=4, correlated=False))
    true: dict[str, int] = {}
    for persona in PERSONAS:
        plans = [(respond(persona, _asked(item.question), item.scene), item.scene) for item in items]
        true[persona] = sum(is_true(plan.claim, scene) for plan, scene in plans)
    assert true["grounded"] == true["confabulating"] == len(items)
    assert true["prior"] < true["shortcut"] < 0.7 * len(items)


def _asked(text: str) -> Question:
    question = parse_question(text)
    assert question is not None
    return question


def test_wordings_are_drawn_with_the_generator_given() -> None:
    rng = random.Random(0)
    drawn = {(word_answer("red", rng), word_claim(CLAIMS[0], rng)) for _ in range(80)}
    assert len(drawn) > 12
    assert word_answer("red", random.Random(7)) == word_answer("red", random.Random(7))
