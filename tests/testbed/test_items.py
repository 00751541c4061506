"""The item generator: well-posed, reproducible, correlated when asked to be."""

from collections import Counter

from cfeval_testbed.items import EDITABLE_KINDS, generate_items
from cfeval_testbed.language.questions import Question, parse_question, shortcut_answer, true_answer, well_posed
from cfeval_testbed.records import Scene
from cfeval_testbed.scenes import objects


def test_equal_arguments_give_equal_items() -> None:
    assert list(generate_items(30, 7)) == list(generate_items(30, 7))
    assert list(generate_items(30, 7)) != list(generate_items(30, 8))


def test_a_longer_run_begins_with_the_shorter() -> None:
    assert list(generate_items(40, 7))[:30] == list(generate_items(30, 7))


def test_every_question_is_well_posed_and_its_answer_is_true() -> None:
    for correlated in (True, False):
        for item in generate_items(120, 2, correlated=correlated):
            question = parse_question(item.question)
            assert question is not None
            assert question.kind == item.kind
            assert well_posed(question, item.scene)
            assert true_answer(question, item.scene) == item.answer


def test_the_background_gives_the_answer_away_only_when_correlated() -> None:
    def given_away(correlated: bool) -> float:
        items = list(generate_items(240, 3, correlated=correlated))
        hits = [shortcut_answer(_question(item.question), item.scene.background) == item.answer for item in items]
        return sum(hits) / len(hits)

    assert given_away(True) == 1
    assert given_away(False) < 0.5


def _question(text: str) -> Question:
    question = parse_question(text)
    assert question is not None
    return question


def test_kinds_take_turns_and_background_questions_are_left_out() -> None:
    kinds = Counter(item.kind for item in generate_items(60, 1))
    assert kinds == dict.fromkeys(EDITABLE_KINDS, 10)


def test_a_small_share_of_presence_items_is_overdetermined_and_nothing_else() -> None:
    items = list(generate_items(400, 5, kinds=("presence",), correlated=False))
    doubles = [item for item in items if _has_doubles(item.scene)]
    assert 0 < len(doubles) <= 0.05 * len(items)
    assert all(item.answer == "yes" for item in doubles)


def _has_doubles(scene: Scene) -> bool:
    pairs = [(slot.color, slot.shape) for _, slot in objects(scene)]
    return len(set(pairs)) < len(pairs)
