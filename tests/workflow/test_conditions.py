"""Conditions that come, go and change their names; protocols; another number of shards; another sample."""

from typing import Any

from tests.workflow.conftest import Copy
from tests.workflow.study import CONDITION, ITEMS, Study
from tests.workflow.watched import FILE, VERDICT, VERDICTS

BRANCH = dict.fromkeys(("baselines", "instructions", "counterfactuals", "checks", "requeries", "verdicts"), 2) | {
    "scores": 1
}
CHAIN = "edct-bench-2026.jsonl"


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
    assert study.stale_stages() == {"calls": 1, "tables": 1, "report": 1}
    study.change(lambda edct: without_condition(edct, "mc"))
    study.change(lambda edct: with_condition(edct, "md"))
    assert study.stale_stages() == BRANCH | {"calls": 1, "tables": 1, "report": 1}
    study.change(lambda edct: without_condition(edct, "md"))
    assert study.nothing_to_do(), "the parameters are what they were, without a run"
    said = study.run("cfeval", "verify", "--evaluation", "edct")
    assert "results/edct/baselines/mine/mc/000.jsonl: made with earlier parameters" in said
    changed = study.root / "results/edct/verdicts/mine/mc/w/ea/k/000" / FILE
    was = changed.read_bytes()
    changed.write_text("by hand\n")
    assert not study.is_verified("--remove-former"), "somebody changed one: it is not ours to remove"
    changed.write_bytes(was)
    assert study.is_verified("--remove-former")
    assert study.results() == finished.results(), "what was of the removed condition is gone"


def test_names_swapped_are_other_targets_and_other_judges(study: Study, finished: Study) -> None:
    def swap(edct: Any) -> None:
        edct["vlms"] = {"ma": edct["vlms"]["mb"], "mb": edct["vlms"]["ma"]}
        edct["judges"] = {"j": edct["judges"]["k"], "k": edct["judges"]["j"]}

    study.change(swap)
    assert study.stale_stages() == {"baselines": 4, "requeries": 4, "verdicts": 4}
    baselines = [f"results/edct/baselines/mine/{name}/000.jsonl" for name in ("ma", "mb")]
    assert study.jobs("snakemake", "--", *baselines) == {"baselines": 2}
    now, then = ([(one.root / path).read_bytes() for path in baselines] for one in (study, finished))
    assert now == then[::-1]


def test_protocols_are_steps_of_one_job_and_one_that_goes_takes_its_files(study: Study, finished: Study) -> None:
    """A table of chains is asked for, then no more: what the other protocol has made is kept throughout."""
    tables = study.params()["edct"]["tables"]
    study.change(lambda edct: edct["tables"].update(bench=[CONDITION]))
    with study.counting("kept") as kept:
        made = study.jobs("snakemake", "--", *VERDICTS)
    several = ("instructions", "counterfactuals", "requeries", "verdicts")
    assert made == dict.fromkeys(several, 2)
    assert kept == dict.fromkeys(several, 2)
    assert {path.name for path in (study.root / VERDICT).iterdir() if not path.name.startswith(".")} == {FILE, CHAIN}
    study.set_threshold(0.8)
    assert study.jobs("snakemake", "--", VERDICT) == {"verdicts": 2}
    study.set_threshold(0.5)
    study.change(lambda edct: edct.update(tables=tables))
    assert study.jobs("snakemake") == {"verdicts": 1}
    assert study.is_verified("--remove-former")
    assert study.results() == finished.results()


def test_a_table_that_is_no_longer_asked_for_goes(study: Study, finished: Study) -> None:
    study.change(lambda edct: edct["tables"].update(table2=edct["tables"]["table1"]))
    assert study.jobs("snakemake") == {"tables": 1, "report": 1}, "the figures show another table"
    assert study.is_verified()
    study.change(lambda edct: edct["tables"].update(table2=[]))
    assert study.jobs("snakemake") == {"tables": 1, "report": 1}
    assert study.results() == finished.results()


def test_fewer_images_than_before_leave_none_of_those(study: Study, fresh: Study, copy: Copy) -> None:
    """Edits that fail now: the images of the run before are no part of the output."""
    output = "results/edct/counterfactuals/mine/ma/w/ea/000"

    def fail(edct: Any) -> None:
        edct["editors"]["ea"]["statuses"] = {f"i{number}": "edit_invalid" for number in range(0, ITEMS, 2)}

    study.change(fail)
    assert study.jobs("snakemake", "--", output) == {"counterfactuals": 1}
    other = copy(fresh)
    other.change(fail)
    other.run("snakemake", "--", output)
    assert study.results(output) == other.results(output)
    assert (study.root / f"{output}.made.json").read_bytes() == (other.root / f"{output}.made.json").read_bytes()


def test_a_sample_added_makes_its_shard_again(study: Study) -> None:
    study.import_samples(ITEMS + 1)
    assert study.jobs("snakemake", "--", "edct_instructions_all") == {"items": 2, "baselines": 2, "instructions": 2}
    after = {"counterfactuals": 2, "checks": 2, "requeries": 2, "verdicts": 2, "scores": 2, "calls": 1, "report": 1}
    assert study.stale_stages() == after


def test_more_than_a_thousand_shards_are_planned_by_names_that_sort_and_each_is_a_job(study: Study) -> None:
    study.set_params(study.params() | {"shards": 1200})
    planned = [name for name in study.stale(targets=("edct_baselines_all",)) if "/items/" in name]
    assert sorted(planned) == [f"results/edct/items/mine/{number:04}.jsonl" for number in range(1200)]
    shard = "results/edct/baselines/mine/ma/1100.jsonl"
    assert study.jobs("snakemake", "--", shard) == {"items": 1, "baselines": 1}
    assert study.stale(targets=(shard,)) == {}


def test_shards_change_in_place(study: Study, finished: Study) -> None:
    """From two to one: the same lines, and no file of two is left once it is verified; then to three."""
    study.set_params(study.params() | {"shards": 1})
    stale = study.stale_stages()
    assert {name: stale[name] for name in ("items", "verdicts")} == {"items": 1, "verdicts": 2}
    study.run("snakemake")
    assert study.is_verified("--remove-former")
    one, two = study.merged(1), finished.merged(2)
    for report in (one, two):  # it shows where each image lies
        del report["results/edct/report/index.html"]
    assert one == two
    assert not [name for name in study.results() if "/00" in name]
    study.set_params(study.params() | {"shards": 3})
    assert study.jobs("snakemake", "--", "edct_items_all") == {"items": 3}
    records = {name for name in study.results("results/edct/items") if name.endswith(".jsonl")}
    assert records == {f"results/edct/items/mine/{name}.jsonl" for name in ("000", "001", "002")}
