"""The question set over the test bed."""

import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from cfeval.core.images import Image
from cfeval.cvqa.interfaces import QuestionSet
from cfeval_testbed.counterfactual_questions.language import parse
from cfeval_testbed.counterfactual_questions.meaning import answer
from cfeval_testbed.render import render
from tests.testbed.scenes import recorded


def made(**options: object) -> QuestionSet:
    built: QuestionSet = registry.build("question_sets", {"plugin": "world", **options})
    return built


def test_the_same_seed_gives_the_same_pairs_and_more_keep_the_ones_there_were() -> None:
    few, more, other = (list(made().pairs(items, seed)) for items, seed in ((9, 4), (12, 4), (9, 5)))
    assert few == more[:9]
    assert few != other
    assert [pair.id for pair in few][:2] == ["world-00001", "world-00002"]
    assert [pair.img_path for pair in few][:2] == ["world-00001.png", "world-00002.png"]
    assert [pair.type for pair in few] == ["direct", "indirect", "boolean"] * 3


def test_images_and_answers_are_those_of_the_scene() -> None:
    for pair in made().pairs(12, 6):
        scene = recorded(pair.metadata)
        assert pair.image == Image.from_pixels(render(scene))
        for said in (pair.original, pair.counterfactual):
            meaning = parse(said.question)
            assert meaning is not None
            assert answer(meaning, scene) == said.answer


def test_all_of_them_are_as_many_as_the_option_says() -> None:
    questions = made(items=5, groups=["boolean"])
    assert [pair.type for pair in questions.pairs(None, 1)] == ["boolean"] * 5
    assert questions.skipped == ()


@pytest.mark.parametrize(
    "options", [{"groups": []}, {"groups": ["abs_counting_1"]}, {"unchanged": 2}, {"items": 0}, {"people": 2}]
)
def test_options_that_cannot_be_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ParamsError, match=f"option '{next(iter(options))}"):
        made(**options)
