"""What params.yaml expects of phi is what the rules of the test models give on the pairs that the calibration draws."""

from pathlib import Path
from typing import get_args

import pytest

from cfeval.core import registry
from cfeval.core.jsonl import read_csv
from cfeval.datasets.pair import ChangeKind
from cfeval.edct.pairs.measures import METRICS, PublishedPairs, notes
from cfeval.edct.pairs.records import PairCondition
from cfeval.edct.pairs.table import PairData, PairRow, render, rows
from tests.edct.pairs.rules import PARAMS, expected_phi, told, told_of_easy_vqa
from tests.edct.pairs.test_pairs import verdict

EASY = "easy-vqa"
WITHOUT = ("prior", "memorising", "blind-listing")
"""Their answers never move with the second image, so that they have no phi."""
PHI = {"phi", "no_phi"}
"""Of whom params.yaml says this, the calibration asks about given pairs."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, known in PARAMS["expected"].items() if name != EASY and known.keys() & PHI]
)
def test_the_expected_phi_of_a_test_model_is_that_of_its_rule(name: str) -> None:
    assert PARAMS["expected"][name].get("phi") == expected_phi(told(name, PARAMS["items"]))


@pytest.mark.slow
def test_the_expected_phi_of_easy_vqas_target_is_that_of_its_rule_on_recolored_images() -> None:
    found = told_of_easy_vqa(PARAMS["items"])
    assert {one.kind for one in found} == {"attribute", "background"}
    assert PARAMS["expected"][EASY]["phi"] == expected_phi(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHOUT)
def test_a_test_model_whose_answer_never_moves_has_no_phi(name: str) -> None:
    found = told(name, 24)
    assert {one.moved for one in found} == {0}
    assert expected_phi(found) is None
    assert "phi" not in PARAMS["expected"][name]
    assert "never moves" in PARAMS["expected"][name]["no_phi"]


# What others printed of a set of pairs stands beside own figures where set, model and kind are the same.


PUBLISHED = read_csv(Path(__file__).parents[3] / "data/reference/pairs.csv", PublishedPairs)


def table(vlm: str, plugin: str) -> list[PairRow]:
    condition = PairCondition(pair_set="mine", vlm=vlm, pair_judge="j")
    kinds = ("object", "count")
    of = [verdict(f"{n}", n % 2, n % 2, kind=kinds[n % 2], correct_before=1, correct_after=1) for n in range(8)]
    return rows([condition], PairData({condition: of}, published=PUBLISHED, sets={"mine": plugin}))


def test_a_figure_stands_beside_the_same_model_set_and_kind_and_no_other() -> None:
    found = {row.kind: row.paper_pair_accuracy for row in table("gpt-4o", "vismin")}
    assert found == {"": None, "object": 0.9551, "count": 0.7742}
    assert [row.paper_pair_accuracy for row in table("gpt-4v", "hallusionbench")] == [0.3142, None, None]
    assert [row.paper_pair_accuracy for row in table("gpt-4o", "naturalbench")] == [0.65, None, None]
    assert {row.paper_pair_accuracy for row in table("gpt-4o", "files")} == {None}
    assert {row.paper_pair_accuracy for row in table("gpt-5", "vismin")} == {None}


def test_the_table_names_the_source_and_that_the_task_is_another() -> None:
    of = table("gpt-4o", "vismin")
    said = render(of, notes(PUBLISHED, {"mine": "vismin"}))
    assert "Both right, published" in said.headings
    [about] = [note for note in said.notes if "Text score (count)" in note]
    assert about.index("MTurk Human 0.8896") < about.index("GPT4-o 0.7742") < about.index("Gemini1.0 Pro 0.6774")
    assert about.endswith("Its task or its prompts are others than ours.")
    assert notes(PUBLISHED, {"mine": "world"}) == []
    plain = render(table("gpt-4o", "files"))
    assert "Both right, published" not in plain.headings


def test_every_published_figure_is_of_a_reader_a_column_and_a_kind_that_there_are() -> None:
    assert PUBLISHED
    for line in PUBLISHED:
        assert line.plugin in registry.names("pair_sets")
        assert line.metric in METRICS
        assert line.kind in get_args(ChangeKind)
        assert 0 <= line.value <= 1
        assert line.source
        assert line.printed
