"""The section `cvqa`: names that nothing defines, people who decide nothing, numbers out of range."""

from copy import deepcopy
from typing import Any

import pytest

from cfeval.config import parse
from cfeval.core.errors import ParamsError
from cfeval.cvqa.config import Cvqa
from cfeval.cvqa.records import CvqaArm
from tests.test_config import GOOD as EDCT

ARMS = {"set": ["puzzles", "built"], "answerer": ["chance"]}
BUILD = {"source": "scenes", "items": 4, "builder": "b", "checker": "c"}
RANDOM = {"backend": "random"}
GOOD: dict[str, Any] = {
    "seed": 1,
    "sets": {"puzzles": {"backend": "synthetic"}},
    "answerers": {"chance": RANDOM, "luck": RANDOM | {"paper": "BLIP2"}},
    "sources": {"scenes": {"backend": "world"}},
    "builders": {"b": {"backend": "grammar"}},
    "checkers": {"c": {"backend": "scene"}},
    "builds": {"built": BUILD, "spare": BUILD},
    "arms": [ARMS],
}


def parsed(**changes: Any) -> Cvqa:
    found = parse(deepcopy(EDCT) | {"cvqa": deepcopy(GOOD) | changes}).cvqa
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"arms": [ARMS | {"set": ["puzzels"]}]},
            "arms name 'puzzels', which cvqa.sets or cvqa.builds does not define",
        ),
        ({"arms": [ARMS | {"set": ["puzzels"]}]}, "did you mean 'puzzles'?"),
        (
            {"arms": [ARMS | {"answerer": ["chanc"]}]},
            "arms name 'chanc', which cvqa.answerers does not define; did you",
        ),
        ({"arms": []}, "cvqa.arms"),
        ({"arms": [{"set": [], "answerer": ["chance"]}]}, "cvqa.arms.0.set"),
        ({"arms": [ARMS | {"orders": 5}]}, "cvqa.arms.0.orders: Input should be 1, 2, 3 or 4, but got 5"),
        ({"builds": {"puzzles": BUILD}}, "builds and sets both define 'puzzles'; give one of them another name"),
        (
            {"builds": {"built": BUILD | {"source": "scene"}}},
            "builds.built name 'scene', which cvqa.sources does not define; did you mean 'scenes'?",
        ),
        ({"builds": {"built": BUILD | {"builder": "d"}}}, "builds.built name 'd', which cvqa.builders does not define"),
        ({"builds": {"built": BUILD | {"checker": "d"}}}, "builds.built name 'd', which cvqa.checkers does not define"),
        (
            {"builds": {"built": BUILD | {"people": True}}},
            "builds.built: people are to decide; name the file of their `decisions`",
        ),
        ({"builds": {"built": BUILD | {"items": 0}}}, "cvqa.builds.built.items: Input should be greater than or equal"),
        (
            {"builds": {"built": BUILD | {"peple": True}}},
            "unknown key 'cvqa.builds.built.peple'; did you mean 'people'?",
        ),
        ({"sets": {}}, "cvqa.sets"),
        (
            {"sets": {"puzzles": {"backend": "synthetic", "items": 0}}},
            "cvqa.sets.puzzles.items: Input should be greater",
        ),
        (
            {"sets": {"puzzles": {"backend": "synthetic", "repeat": 2}}},
            "sets.puzzles: nothing is repeated here; take `repeat` out",
        ),
        ({"answerers": {"chance": RANDOM | {"repeat": 2}}}, "answerers.chance: nothing is repeated here"),
        ({"checkers": {"c": {"backend": "scene", "repeat": 3}}}, "checkers.c: nothing is repeated here"),
        ({"answerers": {}}, "cvqa.answerers"),
        ({"answerers": {"chance": {}}}, "cvqa.answerers.chance.backend: Field required"),
        ({"answerers": {"../chance": RANDOM}}, "cvqa.answerers"),
        ({"seed": -1}, "cvqa.seed: Input should be greater than or equal to 0"),
        ({"itmes": 3}, "unknown key 'cvqa.itmes'"),
        ({"answerrs": {}}, "unknown key 'cvqa.answerrs'; did you mean 'answerers'?"),
        ({"interval": {"method": "normal"}}, "cvqa.interval.method: Input should be 'bootstrap', 'bca' or 'wilson'"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_fault_is_named_in_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ParamsError) as error:
        parsed(**changes)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_people_may_decide_where_their_file_is_named() -> None:
    build = BUILD | {"people": True, "decisions": "mine.csv"}
    assert parsed(builds={"built": build}).builds["built"].people


def test_arms_are_every_combination_each_once_in_the_order_of_the_blocks() -> None:
    more = {"set": ["puzzles"], "answerer": ["luck", "chance"], "orders": 4}
    study = parsed(arms=[ARMS, more])
    arms = [
        CvqaArm(set=of, answerer=by) for of, by in (("puzzles", "chance"), ("built", "chance"), ("puzzles", "luck"))
    ]
    assert study.all_arms() == arms
    assert [study.orders_of(arm) for arm in arms] == [4, 1, 4], "of several blocks the most"


def test_only_what_an_arm_asks_is_filed_or_built() -> None:
    study = parsed()
    assert study.sets_asked() == ["puzzles", "built"]
    assert list(study.builds_asked()) == ["built"]
    assert not parsed(arms=[ARMS | {"set": ["puzzles"]}]).builds_asked()


def test_what_the_study_itself_needs_is_no_option_of_a_plug_in() -> None:
    study = parsed(sets={"puzzles": {"backend": "synthetic", "items": 3, "size": 300}})
    assert study.sets["puzzles"].plugin() == {"backend": "synthetic", "size": 300}
    assert study.sets["puzzles"].items == 3
    assert study.answerers["luck"].plugin() == RANDOM
    assert study.answerers["luck"].paper == "BLIP2"


def test_a_study_without_the_section_has_none() -> None:
    assert parse(EDCT).cvqa is None
