"""Where results lie: folders of studies with a name, and a workflow that takes this one in as a module."""

import shutil
from pathlib import Path

import yaml

from tests.workflow.study import CONDITION, PROJECT, Study
from tests.workflow.watched import VERDICT

QUICK = {"shards": 1, "edct": {"tables": {"table1": [CONDITION | {"judge": ["k"]}]}}}


def overlay(study: Study, stem: str = "quick", **more: object) -> str:
    """A file of parameters that are laid over params.yaml."""
    file = f"{stem}.yaml"
    (study.root / file).write_text(yaml.safe_dump(QUICK | more))
    return file


def test_an_overlay_has_results_of_its_own_which_can_be_verified(study: Study, finished: Study) -> None:
    file = overlay(study)
    ran = study.jobs("snakemake", "--configfile", file)
    assert (ran["baselines"], ran["verdicts"]) == (1, 1)
    assert study.results("results/edct") == finished.results("results/edct")
    assert study.stale("--configfile", file) == study.stale() == {}
    assert study.is_verified("--params", file)
    assert study.is_verified()
    assert yaml.safe_load((study.root / "results/quick/params.yaml").read_text())["shards"] == 1
    there = VERDICT.replace("results/", "results/quick/").replace("/j/000", "/k")
    copied = "results/quick/edct/verdicts"
    study.run("rm", "-r", copied)
    study.run("cp", "-a", "results/edct/verdicts", copied)
    assert study.stale("--configfile", file)[there], "results copied from the default's are not taken for these"
    (study.root / file).write_text((study.root / file).read_text().replace("shards: 1", "shards: 3"))
    assert not study.is_verified("--params", file)
    assert study.nothing_to_do()


def test_changes_on_the_command_line_need_a_name_unless_no_result_depends_on_them(
    study: Study, finished: Study
) -> None:
    changed = ("--config", "edct={judges: {j: {threshold: 0.8}}}")
    said = study.refused("snakemake", *changed)
    assert said.startswith("cfeval: these are not the parameters of params.yaml, whose results would be overwritten")
    named = study.run("snakemake", "--dry-run", *changed, "name=strict", "--", "edct_verdicts_all")
    assert named.count("would run: verdicts") == 4
    samples = "results/strict/edct/items/mine/000.jsonl"
    assert study.jobs("snakemake", *changed, "name=strict", "--", samples) == {"items": 1}
    assert study.results("results/edct") == finished.results("results/edct")
    said = study.refused("snakemake", "--dry-run", "--config", "name=edct", "shards=3")
    assert said == "cfeval: name: 'edct' is the name of a folder in results; take another"
    file = overlay(study, "odd", name="even")
    said = study.run("snakemake", "--dry-run", "--configfile", file, "--", "results/even/edct/items/mine.jsonl")
    assert "would run: samples" in said
    said = study.run("snakemake", "--dry-run", "--config", "limits={api_slots: 2}", "calls={offline: true}")
    assert "Nothing to be done" in said


def test_another_workflow_takes_it_in_as_a_module(fresh: Study, tmp_path: Path) -> None:
    shutil.copytree(PROJECT / "examples/module", tmp_path / "home/study")
    study = Study(tmp_path / "home/study")
    words, code = ("snakemake", "--cores", "2", "--quiet", "all"), str(fresh.root / "src")
    made = study.jobs(*words, PYTHONPATH=code)
    assert (study.root / "conclusion.csv").read_text() == "vlm,n,n_scored\nscripted,1,1\n"
    assert made["verdicts"] >= 1
    assert study.jobs(*words, PYTHONPATH=code) == {}
    config = study.root / "config.yaml"
    config.write_text(config.read_text().replace("items: 1", "items: 1\n    seed: 5"))
    assert study.jobs(*words, PYTHONPATH=code)["items"] == 1
