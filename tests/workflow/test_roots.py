"""Studies with a name: an overlay or `--config` never touches what params.yaml made, and can be sealed too."""

from pathlib import Path

import yaml

from tests.workflow.study import CONDITION, Study
from tests.workflow.watched import VERDICT

QUICK = {"shards": 1, "edct": {"tables": {"table1": [CONDITION | {"judge": ["k"]}]}}}


def overlay(study: Study, stem: str = "quick", **more: object) -> str:
    """A file of parameters that are laid over params.yaml."""
    file = f"{stem}.yaml"
    (study.root / file).write_text(yaml.safe_dump(QUICK | more))
    return file


def test_an_overlay_has_results_of_its_own_which_can_be_sealed(study: Study, finished: Study) -> None:
    file = overlay(study)
    ran = study.jobs("snakemake", "--configfile", file)
    assert (ran["baselines"], ran["verdicts"]) == (1, 1)
    assert study.results("results/edct") == finished.results("results/edct")
    assert study.stale() == study.stale("--overlay", file) == {}
    assert "results/quick/edct: sealed, " in study.run("cfeval", "seal", "edct", "--overlay", file)
    assert yaml.safe_load((study.root / "results/quick/params.yaml").read_text())["shards"] == 1
    assert study.jobs("snakemake", "--configfile", file) == study.jobs("snakemake") == {}
    (study.root / file).write_text((study.root / file).read_text().replace("shards: 1", "shards: 3"))
    assert study.try_("cfeval", "seal", "edct", "--overlay", file).returncode == 2
    assert study.run("cfeval", "seal", "edct")


def test_changes_on_the_command_line_need_a_name(study: Study, finished: Study) -> None:
    changed = ("--config", "edct={judges: {j: {threshold: 0.8}}}")
    said = study.refused("snakemake", *changed)
    assert said.startswith("cfeval: these are not the parameters of params.yaml, whose results would be overwritten")
    assert study.results() == finished.results()
    named = study.run("snakemake", "--dry-run", *changed, "name=strict", "--", "edct_verdicts_all")
    assert named.count("would run: verdicts") == 4
    samples = "results/strict/edct/items/mine/000.jsonl"
    assert study.jobs("snakemake", *changed, "name=strict", "--", samples) == {"items": 1}
    assert study.results("results/edct") == finished.results("results/edct")


def test_what_no_result_depends_on_needs_no_name(study: Study) -> None:
    said = study.run("snakemake", "--dry-run", "--config", "limits={api_slots: 2}", "calls={offline: true}")
    assert "Nothing to be done" in said


def test_names_of_folders_that_are_taken_are_refused(study: Study) -> None:
    said = study.refused("snakemake", "--dry-run", "--config", "name=edct", "shards=3")
    assert said == "cfeval: name: 'edct' is the name of a folder in results; take another"


def test_an_overlays_name_may_be_given(study: Study) -> None:
    file = overlay(study, "odd", name="even")
    said = study.run("snakemake", "--dry-run", "--configfile", file, "--", "results/even/edct/items/mine.jsonl")
    assert "would run: samples" in said


def test_the_same_record_in_another_root_is_another_jobs(study: Study) -> None:
    """Results that were copied from the default's folder are not taken for the overlay's."""
    file = overlay(study, shards=2)
    for name in ("verdicts", "baselines"):
        study.run("mkdir", "-p", "results/quick/edct")
        study.run("cp", "-a", f"results/edct/{name}", "results/quick/edct/")
    there = VERDICT.replace("results/", "results/quick/").replace("/ma/", "/ma/").replace("/j/", "/k/")
    assert there in study.stale("--overlay", file)
    assert Path(study.root / "results/quick/edct/baselines").exists()
