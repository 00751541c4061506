"""Imagined images: the answer wanted is right there, little else differs, and weak eyes err as often as is said."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval_testbed.agents.scene_reader import Reading, reading_of
from cfeval_testbed.imagined import ANSWERS, alone, misperceived, place_asked_about, scene_read, showing
from cfeval_testbed.items import generate_items
from cfeval_testbed.language.questions import QUESTION_KINDS, Question, QuestionKind, parse_question, true_answer
from cfeval_testbed.records import Scene
from cfeval_testbed.scenes import objects
from tests.slow import slow
from tests.testbed.scenes import scene_of
from tests.testbed.strategies import scenes

RED_CIRCLE, BLUE_STAR = ("red", "circle"), ("blue", "star")


def asked(count: int, seed: int = 11) -> list[tuple[Question, Scene]]:
    """Questions of all kinds about scenes."""
    items = generate_items(count, seed, QUESTION_KINDS, correlated=False)
    pairs = ((parse_question(item.question), item.scene) for item in items)
    return [(question, scene) for question, scene in pairs if question is not None]


@given(scene=scenes())
def test_a_scene_that_was_read_shows_what_was_read(scene: Scene) -> None:
    assert reading_of(scene_read(reading_of(scene))) == reading_of(scene)


def test_a_reading_without_objects_is_an_empty_scene() -> None:
    assert objects(scene_read(Reading((None,) * 4, "mint"))) == []


@given(place=st.integers(0, 20), draw=st.integers(0, 2**16))
def test_the_answer_wanted_is_right_in_the_image_imagined(place: int, draw: int) -> None:
    question, scene = asked(21)[place]
    answer = random.Random(draw).choice(ANSWERS[question.kind])
    assert true_answer(question, showing(scene, question, answer)) == answer


@pytest.mark.parametrize("kind", [kind for kind in QUESTION_KINDS if kind not in ("count", "position")])
def test_at_most_one_thing_differs_from_the_image_seen(kind: QuestionKind) -> None:
    for question, scene in asked(70):
        if question.kind == kind:
            for answer in ANSWERS[kind]:
                after = showing(scene, question, answer)
                changed = sum(one != other for one, other in zip(scene.slots, after.slots, strict=True))
                assert changed + (scene.background != after.background) <= 1


def test_what_is_right_already_is_left_as_it_is() -> None:
    for question, scene in asked(21):
        assert showing(scene, question, true_answer(question, scene)) is scene


def test_a_question_points_at_its_object() -> None:
    scene = scene_of(RED_CIRCLE, None, BLUE_STAR, None)
    assert place_asked_about(Question("color", shape="star"), scene) == 2
    assert place_asked_about(Question("color", shape="cross"), scene) is None
    assert place_asked_about(Question("count"), scene) is None


def test_an_object_can_be_seen_alone() -> None:
    scene = scene_of(RED_CIRCLE, None, BLUE_STAR, None)
    assert [slot.color for _, slot in objects(alone(scene, 2))] == ["blue"]


@pytest.mark.slow
@pytest.mark.parametrize("rate", [slow(0.1), 0.3])
def test_weak_eyes_err_at_the_rate_and_never_to_the_truth(rate: float) -> None:
    pairs = asked(2100)
    seen = [misperceived(scene, question, rate) for question, scene in pairs]
    wrong = [
        true_answer(question, after) != true_answer(question, scene)
        for (question, scene), after in zip(pairs, seen, strict=True)
    ]
    assert abs(sum(wrong) / len(pairs) - rate) < 0.03
    assert [after is not scene for (_, scene), after in zip(pairs, seen, strict=True)] == wrong
    kinds = Counter(question.kind for (question, _), err in zip(pairs, wrong, strict=True) if err)
    assert set(kinds) == set(QUESTION_KINDS)


def test_weak_eyes_see_the_same_whatever_else_is_in_the_image() -> None:
    question = Question("color", shape="star")
    for first in (RED_CIRCLE, ("green", "cross"), None):
        scene = scene_of(first, None, BLUE_STAR, None)
        seen = misperceived(scene, question, 0.5)
        assert true_answer(question, seen) == true_answer(
            question, misperceived(scene_of(RED_CIRCLE, None, BLUE_STAR, None), question, 0.5)
        )
