"""The shipped small VLM: each persona keeps to its plan, and a reply depends on nothing but its request."""

import json

import numpy as np
import pytest

from cfeval_testbed.agents.small_vlm import SmallTalker
from cfeval_testbed.items import Item, generate_items
from cfeval_testbed.language.explanations import is_true, parse_answer, parse_explanation
from cfeval_testbed.language.questions import PERSONAS, Persona, Question, parse_question, respond
from cfeval_testbed.render import Pixels, render_many
from cfeval_testbed.weights import models_dir
from tests.slow import first_fast

TEMPERATURE = 0.5


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return list(generate_items(90, seed=70_001, correlated=False))


@pytest.fixture(scope="module")
def images(items: list[Item]) -> list[Pixels]:
    return list(render_many([item.scene for item in items]))


def _asked(item: Item) -> Question:
    question = parse_question(item.question)
    assert question is not None
    return question


@pytest.mark.parametrize("persona", first_fast(PERSONAS, 1))
def test_a_persona_answers_and_explains_as_planned(persona: Persona, items: list[Item], images: list[Pixels]) -> None:
    talker, questions, seeds = SmallTalker("vlm", persona), [item.question for item in items], list(range(len(items)))
    answers = talker.answer(images, questions, seeds, TEMPERATURE)
    explanations = talker.explain(images, questions, answers, seeds, TEMPERATURE)
    plans = [respond(persona, _asked(item), item.scene) for item in items]
    said = [parse_answer(text) for text in answers]
    claims = [parse_explanation(text) for text in explanations]
    assert sum(answer == plan.answer for answer, plan in zip(said, plans, strict=True)) >= 0.95 * len(items)
    assert sum(claim == plan.claim for claim, plan in zip(claims, plans, strict=True)) >= 0.92 * len(items)
    if persona == "grounded":
        scenes = [item.scene for item in items]
        true = [claim is not None and is_true(claim, scene) for claim, scene in zip(claims, scenes, strict=True)]
        assert sum(true) >= 0.94 * len(items)


def test_a_reply_does_not_depend_on_its_batch(items: list[Item], images: list[Pixels]) -> None:
    talker = SmallTalker()
    questions = [item.question for item in items[:12]]
    together = talker.answer(images[:12], questions, range(12), 1.0)
    alone = [talker.answer([images[row]], [questions[row]], [row], 1.0)[0] for row in range(12)]
    assert together == alone
    why = talker.explain(images[:12], questions, together, range(12), 1.0)
    assert why[5] == SmallTalker().explain([images[5]], [questions[5]], [together[5]], [5], 1.0)[0]


def test_wordings_vary_with_the_seed_and_never_at_temperature_zero(items: list[Item], images: list[Pixels]) -> None:
    talker, count = SmallTalker(), 24
    same = ([images[0]] * count, [items[0].question] * count)
    assert len(set(talker.answer(*same, range(count), TEMPERATURE))) >= 3
    assert len(set(talker.answer(*same, range(count), 0.0))) == 1


def test_unknown_words_and_long_questions_are_taken(images: list[Pixels]) -> None:
    replies = SmallTalker().answer(images[:2], ["Wherefore art thou, Romeo?", "what color " * 60], [0, 1], 0.0)
    assert all(isinstance(reply, str) for reply in replies)


@pytest.mark.parametrize("shape", [(32, 32, 3), (64, 64), (64, 64, 4)])
def test_an_image_of_another_size_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"image must be uint8 \(64, 64, 3\)"):
        SmallTalker().answer([np.zeros(shape, dtype=np.uint8)], ["What color is the circle?"], [0], 0.0)


def test_an_unknown_persona_is_refused() -> None:
    with pytest.raises(ValueError, match="persona must be one of grounded, shortcut"):
        SmallTalker("vlm", "honest")


def test_the_recorded_figures_reach_what_the_studies_rest_on() -> None:
    figures = json.loads((models_dir() / "vlm.json").read_text(encoding="utf-8"))["held_out"]
    assert figures["grounded"]["answers"] >= 0.98
    assert figures["grounded"]["explanations_true"] >= 0.97
    assert all(figures[persona]["answers"] >= 0.98 for persona in PERSONAS)
    assert all(figures[persona]["explanations_as_planned"] >= 0.97 for persona in PERSONAS)
