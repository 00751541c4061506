"""Conditions that come, go and change their names; another number of shards; another sample."""

from typing import Any

import pytest

from tests.workflow.study import CONDITION, ITEMS, Study

BRANCH = dict.fromkeys(("baselines", "instructions", "counterfactuals", "checks", "requeries", "verdicts", "scores"), 2)


def with_condition(edct: Any, name: str = "mc") -> None:
    """Add a target with a condition of its own."""
    edct["vlms"][name] = {"plugin": "mock", "replies": ["aye {image}", "nay {image}"]}
    edct["tables"]["table1"].append(CONDITION | {"vlm": [name], "judge": ["k"]})


def without_condition(edct: Any, name: str) -> None:
    """Remove a target and its condition."""
    del edct["vlms"][name]
    edct["tables"]["table1"] = [block for block in edct["tables"]["table1"] if block["vlm"] != [name]]


def test_a_condition_is_added_renamed_and_removed(study: Study, finished: Study) -> None:
    study.change(with_condition)
    assert study.jobs("snakemake", "--", "edct_verdicts_all") == BRANCH
    assert study.stale_stages() == {"calls": 1, "tables": 3, "report": 1}
    study.change(lambda edct: without_condition(edct, "mc"))
    study.change(lambda edct: with_condition(edct, "md"))
    renamed = study.stale_stages()
    assert renamed == {
        **dict.fromkeys(
            ("baselines", "instructions", "counterfactuals", "checks", "requeries", "verdicts", "scores"), 2
        ),
        **{"calls": 1, "tables": 3, "report": 1},
    }
    study.change(lambda edct: without_condition(edct, "md"))
    assert study.jobs("dvc", "repro", "--force") == {}
    assert study.results() == finished.results(), "what was of the removed condition is gone"
    assert "up to date" in study.run("dvc", "status", "edct")


def test_the_names_of_two_targets_swapped(study: Study, finished: Study) -> None:
    def swap(edct: Any) -> None:
        edct["vlms"] = {"ma": edct["vlms"]["mb"], "mb": edct["vlms"]["ma"]}

    study.change(swap)
    assert study.stale_stages() == {"baselines": 4, "requeries": 4}
    baselines = [f"results/edct/baselines/mine/{name}/000.jsonl" for name in ("ma", "mb")]
    assert study.jobs("snakemake", "--", *baselines) == {"baselines": 2}
    now, then = ([(one.root / path).read_bytes() for path in baselines] for one in (study, finished))
    assert now == then[::-1]


def test_two_judges_swapped(study: Study) -> None:
    def swap(edct: Any) -> None:
        edct["judges"] = {"j": edct["judges"]["k"], "k": edct["judges"]["j"]}

    study.change(swap)
    assert study.stale_stages() == {"verdicts": 4}


def test_a_table_without_conditions_is_not_made_and_an_old_one_is_removed(study: Study) -> None:
    study.change(lambda edct: edct["tables"].update(table2=edct["tables"]["table1"]))
    assert study.jobs("snakemake") == {"table": 1, "metrics": 1, "report": 1}
    assert "edct_table2" not in study.run("cfeval", "seal", "edct")
    study.change(lambda edct: edct["tables"].update(table2=[]))
    assert study.jobs("snakemake") == {"metrics": 1, "report": 1}
    assert "edct_table2.csv: of a former study, removed" in study.run("cfeval", "seal", "edct")
    assert not list((study.root / "results").rglob("*table2*"))


def test_a_sample_added_makes_its_shard_again(study: Study) -> None:
    study.import_samples(ITEMS + 1)
    assert study.jobs("snakemake", "--", "edct_instructions_all") == {"items": 1, "baselines": 2, "instructions": 2}
    after = {"counterfactuals": 2, "checks": 2, "requeries": 2, "verdicts": 2, "scores": 2, "calls": 1, "report": 1}
    assert study.stale_stages() == after


def test_shards_change_in_place(study: Study, finished: Study) -> None:
    """From two to one: the same lines, and no file of two is left once it is sealed; then to three."""
    study.set_params(study.params() | {"shards": 1})
    study.run("snakemake")
    study.run("cfeval", "seal", "edct")
    one, two = study.merged(1), finished.merged(2)
    for report in (one, two):  # it shows where each image lies
        del report["results/edct/report/index.html"]
    assert one == two
    assert not [name for name in study.results() if "/00" in name]
    study.set_params(study.params() | {"shards": 3})
    assert study.jobs("snakemake", "--", "edct_items_all") == {"items": 1}
    records = {name for name in study.results("results/edct/items") if name.endswith(".jsonl")}
    assert records == {f"results/edct/items/mine{name}.jsonl" for name in ("", "/000", "/001", "/002")}


@pytest.mark.parametrize("shards", [1, 3])
def test_another_number_of_shards_makes_samples_and_what_is_not_there(study: Study, shards: int) -> None:
    """Of three the first two are there; they are stale as soon as the samples are others."""
    study.set_params(study.params() | {"shards": shards})
    stale = study.stale_stages()
    assert {name: stale[name] for name in ("items", "verdicts", "scores")} == {
        "items": 1,
        "verdicts": 2,
        "scores": 2,
    }
