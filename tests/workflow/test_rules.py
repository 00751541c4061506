"""The rules as a whole, by a dry run of the project's own studies: what they print, make, and give to DVC."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workflow.conftest import Shared
from tests.workflow.study import PROJECT, Study, whole
from tests.workflow.watched import EVERYTHING

STAGES: dict[str, dict[str, Any]] = yaml.safe_load((PROJECT / "dvc.yaml").read_text())["stages"]
CALIBRATION = "workflow/params/calibration.yaml"
MOST = 60
"""Jobs of `make demo`: the first run stays small."""
PHASES = {
    "edct_items_all": {"items"},
    "edct_baselines_all": {"items", "baselines"},
    "edct_counterfactuals_all": {"items", "baselines", "instructions", "counterfactuals", "checks"},
    "edct_verdicts_all": EVERYTHING.keys() - {"calls", "tables", "figures", "report"},
    "edct_tables_all": EVERYTHING.keys() - {"calls", "report"},
}


@pytest.fixture(scope="module")
def project(shared: Shared) -> Study:
    """The project without results."""
    return Study(shared("project", lambda folder: whole(folder / "home/study") and None) / "home/study")


def jobs_of(study: Study, *words: str) -> list[dict[str, Any]]:
    """The jobs that a dry run finds."""
    told = study.home / "all-jobs.json"
    study.run("snakemake", "--dry-run", "--quiet", "all", *words, CFEVAL_JOBS=str(told))
    found: list[dict[str, Any]] = json.loads(told.read_text())
    return found


@pytest.fixture(scope="module")
def jobs(project: Study) -> list[dict[str, Any]]:
    """All jobs of the project's studies, and of calibration."""
    return [*jobs_of(project, "--", "all"), *jobs_of(project, "--configfile", CALIBRATION, "--", "edct")]


def of(jobs: list[dict[str, Any]], folder: str) -> list[dict[str, Any]]:
    return [job for job in jobs if job["outputs"][0].startswith(f"{folder}/")]


def test_the_main_study_has_few_jobs_and_is_what_is_made_without_a_target(
    project: Study, jobs: list[dict[str, Any]]
) -> None:
    main = of(jobs, "results/edct")
    assert 40 < len(main) <= MOST
    assert {job["outputs"][0] for job in jobs_of(project)} == {job["outputs"][0] for job in main}


def test_every_job_has_a_command_whose_output_is_its_first_and_others_make_what_it_takes(
    jobs: list[dict[str, Any]],
) -> None:
    made = {path for job in jobs for path in job["outputs"]}
    for job in jobs:
        assert job["words"][0] in ("edct", "vce", "cvqa"), job["rule"]
        out = job["words"][job["words"].index("--out") + 1]
        first = job["outputs"][0]
        assert first.startswith((out.partition("/{protocol}")[0], out.removesuffix(".jsonl"))), job["rule"]
        missing = [path for path in job["inputs"] if path.startswith("results/") and path not in made]
        assert missing == [], job["rule"]
    assert len({path for job in jobs for path in job["outputs"]}) == sum(len(job["outputs"]) for job in jobs)


@pytest.mark.parametrize("stage", ["edct", "calibration", "vce", "cvqa"])
def test_dvc_keeps_just_the_folders_that_a_stage_makes_and_git_the_small_ones(
    stage: str, jobs: list[dict[str, Any]]
) -> None:
    root = {"calibration": "results/calibration/edct"}.get(stage, f"results/{stage}")
    outs = {path: how for out in STAGES[stage]["outs"] for path, how in out.items()}
    folders = {"/".join(path.split("/")[: root.count("/") + 2]) for job in of(jobs, root) for path in job["outputs"]}
    records = {f"{root}/{name}.made.json" for name in ("tables", "figures")}
    assert set(outs) == folders | records
    for path, how in outs.items():
        assert how["persist"]
        assert (how.get("cache", True) is False) == path.startswith((f"{root}/tables", f"{root}/figures"))
    command = " ".join(STAGES[stage]["cmd"].split())
    study = root.rpartition("/")[2]
    assert re.fullmatch(
        rf"snakemake .*-- {study} && cfeval verify --evaluation {study}( --params \S+)? --remove-former", command
    )


def test_metrics_and_plots_are_made_by_a_job(jobs: list[dict[str, Any]]) -> None:
    content = yaml.safe_load((PROJECT / "dvc.yaml").read_text())
    made = {path for job in jobs for path in job["outputs"]}
    assert set(content["metrics"]) | set(content["plots"]) <= made


def test_the_jobs_of_a_target_of_a_phase(fresh: Study) -> None:
    for target, wanted in PHASES.items():
        found = Counter(job["words"][1] for job in jobs_of(fresh, "--", target))
        assert found == {name: EVERYTHING[name] for name in wanted}


def test_commands_that_a_dry_run_prints_can_be_typed_and_the_workflow_keeps_what_they_make(
    finished: Study, tmp_path: Path
) -> None:
    study = finished.copy(tmp_path / "home")
    study.run("rm", "-r", "results", ".snakemake", "logs")
    target = "results/edct/verdicts/mine/ma/w/ea/j/000"
    printed = study.run("snakemake", "--dry-run", "--printshellcmds", "--workflow-profile", "none", "--", target)
    commands = re.findall(r"^Shell command: (cfeval edct .*)$", printed, re.MULTILINE)
    assert [command.split()[2] for command in commands] == [
        "items",
        "baselines",
        "instructions",
        "counterfactuals",
        "requeries",
        "verdicts",
    ]
    for command in commands:
        study.run("sh", "-c", f"mkdir -p {Path(command.rpartition(' ')[2]).parent} && {command}")
    assert study.nothing_to_do("--", target)
    made = study.results()
    assert made == {name: content for name, content in finished.results().items() if name in made}
    assert any(name.startswith(target) for name in made)
    with study.counting("kept") as kept:
        study.run("sh", "-c", commands[0])
    assert kept == {"items": 1}
