"""Arms that come, go and change their names; another number of shards; another sample."""

from typing import Any

import pytest

from tests.workflow.conftest import Copy
from tests.workflow.study import ARM, ITEMS, Study
from tests.workflow.watched import AFTER, JUDGED, TABLES

BRANCH = dict.fromkeys(("baseline", "instruct", "edit", "check", "requery", "judge", "score"), 2)


def with_arm(edct: Any, name: str = "mc") -> None:
    """Add a target with an arm of its own."""
    edct["vlms"][name] = {"backend": "scripted", "replies": ["aye {image}", "nay {image}"]}
    edct["tables"]["table1"].append(ARM | {"vlm": [name], "judge": ["k"]})


def without_arm(edct: Any, name: str) -> None:
    """Remove a target and its arm."""
    del edct["vlms"][name]
    edct["tables"]["table1"] = [block for block in edct["tables"]["table1"] if block["vlm"] != [name]]


def test_an_arm_is_added_renamed_and_removed(study: Study, finished: Study) -> None:
    study.change(with_arm)
    assert study.jobs("snakemake") == BRANCH | AFTER
    assert study.stale() == {}
    study.change(lambda edct: without_arm(edct, "mc"))
    study.change(lambda edct: with_arm(edct, "md"))
    renamed = study.stale_stages()
    assert renamed == {
        **dict.fromkeys(("baseline", "instructions", "counterfactuals", "checks", "requery", "verdicts", "scores"), 2),
        **{"calls": 1, "tables": 3, "report": 1},
    }
    study.change(lambda edct: without_arm(edct, "md"))
    assert study.jobs("dvc", "repro") == AFTER
    assert study.results() == finished.results(), "what was of the removed arm is gone"
    assert "up to date" in study.run("dvc", "status", "edct")


def test_the_names_of_two_targets_swapped(study: Study, finished: Study) -> None:
    def swap(edct: Any) -> None:
        edct["vlms"] = {"ma": edct["vlms"]["mb"], "mb": edct["vlms"]["ma"]}

    study.change(swap)
    assert study.stale_stages() == {"baseline": 4, "requery": 4}
    baselines = [f"results/edct/baseline/mine/{name}/000.jsonl" for name in ("ma", "mb")]
    assert study.jobs("snakemake", "--", *baselines) == {"baseline": 2}
    now, then = ([(one.root / path).read_bytes() for path in baselines] for one in (study, finished))
    assert now == then[::-1]


def test_two_judges_swapped(study: Study) -> None:
    def swap(edct: Any) -> None:
        edct["judges"] = {"j": edct["judges"]["k"], "k": edct["judges"]["j"]}

    study.change(swap)
    assert study.stale_stages() == {"verdicts": 4}


def test_a_table_without_arms_is_not_made_and_an_old_one_is_removed(study: Study) -> None:
    study.change(lambda edct: edct["tables"].update(table2=edct["tables"]["table1"]))
    assert study.jobs("snakemake") == {"table": 1, "metrics": 1, "report": 1}
    assert "edct_table2" not in study.run("cfeval", "seal", "edct")
    study.change(lambda edct: edct["tables"].update(table2=[]))
    assert study.jobs("snakemake") == {"metrics": 1, "report": 1}
    assert "edct_table2.csv: of a former study, removed" in study.run("cfeval", "seal", "edct")
    assert not list((study.root / "results").rglob("*table2*"))


def test_a_sample_added_makes_its_shard_again(study: Study) -> None:
    study.import_samples(ITEMS + 1)
    stages = ("baseline", "instruct", "edit", "check", "requery", "judge", "score")
    assert study.jobs("snakemake") == {"generate": 1} | dict.fromkeys(stages, 2) | AFTER
    assert study.table().count(f",{ITEMS + 1},") == 2


def test_shards_change_in_place(fresh: Study, copy: Copy) -> None:
    """From one to three and back: the same lines, and no file of another number is left once it is sealed."""
    study = copy(fresh)
    study.change(lambda edct: edct["tables"].update(table1=[ARM | {"judge": ["k"]}]))
    found = {}
    for shards in (1, 3, 1):
        study.set_params(study.params() | {"shards": shards})
        study.run("snakemake")
        study.run("cfeval", "seal", "edct")
        merged = study.merged(shards)
        assert found.setdefault("merged", merged) == merged
        records = {name.split("/")[-1] for name in study.results("results/edct/verdicts") if name.endswith(".jsonl")}
        assert records == ({"k.jsonl"} if shards == 1 else {"000.jsonl", "001.jsonl", "002.jsonl"})


@pytest.mark.parametrize("shards", [1, 3])
def test_another_number_of_shards_makes_samples_and_what_is_not_there(study: Study, shards: int) -> None:
    """Of three the first two are there; they are stale as soon as the samples are others."""
    study.set_params(study.params() | {"shards": shards})
    stale = study.stale_stages()
    assert {name: stale[name] for name in ("samples", "verdicts", "scores")} == {
        "samples": 1,
        "verdicts": 2,
        "scores": 2,
    }


def test_a_changed_interval_makes_tables_again(study: Study) -> None:
    study.change(lambda edct: edct["interval"].update(level=0.9))
    assert study.jobs("snakemake") == TABLES | {"report": 1}
    assert "90 %" in study.table()
    assert study.stale() == {}
    assert JUDGED.keys().isdisjoint(study.stale_stages())
