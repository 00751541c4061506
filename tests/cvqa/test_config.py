"""The section `cvqa`: names that nothing defines, people who decide nothing, numbers out of range."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from cfeval.config import parse
from cfeval.core.errors import ParamsError
from cfeval.core.jsonl import read_csv
from cfeval.cvqa.config import Cvqa
from cfeval.cvqa.records import CvqaCondition
from cfeval.cvqa.step_params import set_facts
from cfeval.cvqa.tables.replies import PublishedAnswer
from tests.test_config import GOOD as EDCT

CONDITIONS = {"set": ["puzzles", "built"], "solver": ["chance"]}
BUILD = {"source": "scenes", "items": 4, "question_generator": "b", "question_validator": "c"}
RANDOM = {"plugin": "random"}
GOOD: dict[str, Any] = {
    "seed": 1,
    "sets": {"puzzles": {"plugin": "synthetic"}},
    "solvers": {"chance": RANDOM, "luck": RANDOM | {"paper": "BLIP2"}},
    "sources": {"scenes": {"plugin": "world"}},
    "question_generators": {"b": {"plugin": "grammar"}},
    "question_validators": {"c": {"plugin": "scene"}},
    "builds": {"built": BUILD, "spare": BUILD},
    "conditions": [CONDITIONS],
}


def parsed(**changes: Any) -> Cvqa:
    found = parse(deepcopy(EDCT) | {"cvqa": deepcopy(GOOD) | changes}).cvqa
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"conditions": [CONDITIONS | {"set": ["puzzels"]}]},
            "conditions name 'puzzels', which cvqa.sets or cvqa.builds does not define",
        ),
        ({"conditions": [CONDITIONS | {"set": ["puzzels"]}]}, "did you mean 'puzzles'?"),
        (
            {"conditions": [CONDITIONS | {"solver": ["chanc"]}]},
            "conditions name 'chanc', which cvqa.solvers does not define; did you",
        ),
        ({"conditions": []}, "cvqa.conditions"),
        ({"conditions": [{"set": [], "solver": ["chance"]}]}, "cvqa.conditions.0.set"),
        (
            {"conditions": [CONDITIONS | {"orders": 5}]},
            "cvqa.conditions.0.orders: Input should be 1, 2, 3 or 4, but got 5",
        ),
        ({"builds": {"puzzles": BUILD}}, "builds and sets both define 'puzzles'; give one of them another name"),
        (
            {"builds": {"built": BUILD | {"source": "scene"}}},
            "builds.built name 'scene', which cvqa.sources does not define; did you mean 'scenes'?",
        ),
        (
            {"builds": {"built": BUILD | {"question_generator": "d"}}},
            "builds.built name 'd', which cvqa.question_generators does not define",
        ),
        (
            {"builds": {"built": BUILD | {"question_validator": "d"}}},
            "builds.built name 'd', which cvqa.question_validators does not define",
        ),
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
            {"sets": {"puzzles": {"plugin": "synthetic", "items": 0}}},
            "cvqa.sets.puzzles.items: Input should be greater",
        ),
        (
            {"sets": {"puzzles": {"plugin": "synthetic", "repeat": 2}}},
            "sets.puzzles: nothing is repeated here; take `repeat` out",
        ),
        ({"solvers": {"chance": RANDOM | {"repeat": 2}}}, "solvers.chance: nothing is repeated here"),
        (
            {"question_validators": {"c": {"plugin": "scene", "repeat": 3}}},
            "question_validators.c: nothing is repeated here",
        ),
        ({"solvers": {}}, "cvqa.solvers"),
        ({"solvers": {"chance": {}}}, "cvqa.solvers.chance.plugin: Field required"),
        ({"solvers": {"../chance": RANDOM}}, "cvqa.solvers"),
        ({"seed": -1}, "cvqa.seed: Input should be greater than or equal to 0"),
        ({"itmes": 3}, "unknown key 'cvqa.itmes'"),
        ({"answerrs": {}}, "unknown key 'cvqa.answerrs'; did you mean 'solvers'?"),
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


def test_conditions_are_every_combination_each_once_in_the_order_of_the_blocks() -> None:
    more = {"set": ["puzzles"], "solver": ["luck", "chance"], "orders": 4}
    study = parsed(conditions=[CONDITIONS, more])
    conditions = [
        CvqaCondition(set=of, solver=by) for of, by in (("puzzles", "chance"), ("built", "chance"), ("puzzles", "luck"))
    ]
    assert study.all_conditions() == conditions
    assert [study.orders_of(condition) for condition in conditions] == [4, 1, 4], "of several blocks the most"


def test_only_what_a_condition_asks_is_filed_or_built() -> None:
    study = parsed()
    assert study.sets_asked() == ["puzzles", "built"]
    assert list(study.builds_asked()) == ["built"]
    assert not parsed(conditions=[CONDITIONS | {"set": ["puzzles"]}]).builds_asked()


def test_what_the_study_itself_needs_is_no_option_of_a_plug_in() -> None:
    study = parsed(sets={"puzzles": {"plugin": "synthetic", "items": 3, "size": 300}})
    assert study.sets["puzzles"].plugin_options() == {"plugin": "synthetic", "size": 300}
    assert study.sets["puzzles"].items == 3
    assert study.solvers["luck"].plugin_options() == RANDOM
    assert study.solvers["luck"].paper == "BLIP2"


def test_a_study_without_the_section_has_none() -> None:
    assert parse(EDCT).cvqa is None


def test_a_part_of_a_set_is_a_subset_of_a_set_that_is_there() -> None:
    part = {"plugin": "synthetic", "items": 3, "part_of": "puzzles"}
    assert set_facts(parsed(sets=GOOD["sets"] | {"part": part}))["part"]["subset"]
    with pytest.raises(ParamsError, match=r"part_of name .puzzels., which"):
        parsed(sets=GOOD["sets"] | {"part": part | {"part_of": "puzzels"}})


def test_the_papers_overlay_asks_every_model_of_table_3() -> None:
    root = Path(__file__).parents[2]
    study = yaml.safe_load((root / "workflow/params/cvqa-paper.yaml").read_text())["cvqa"]
    asked = next(block["solver"] for block in study["conditions"] if block["set"] == ["real"])
    papers = {study["solvers"][name].get("paper") for name in asked}
    published = read_csv(root / "data/reference/cvqa.csv", PublishedAnswer)
    models = {line.model for line in published if line.table == "table3"}
    assert len(models) == 14
    assert models <= papers
