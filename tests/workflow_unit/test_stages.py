"""dvc.yaml against the lists of jobs: what DVC seals is what the studies make, in folders of their own."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from cfeval.config import Params, load
from cfeval.jobs import STUDIES, folders, jobs
from cfeval.testbed.training import SHIPPED

ROOT = Path(__file__).parents[2]
STAGES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
ROOTS = {"edct": ("results", "edct"), "calibration": ("results/calibration", "edct")}
ROOTS |= {study: ("results", study) for study in ("vce", "cvqa")}
"""By stage: where the study's results lie, and which study it is."""


@pytest.fixture(scope="module")
def params() -> Params:
    return load(ROOT / "params.yaml")


def outs(stage: str) -> dict[str, dict[str, bool]]:
    """The outputs of a stage, each with what DVC is told about it."""
    return {path: how for out in STAGES[stage]["outs"] for path, how in out.items()}


@pytest.mark.parametrize("stage", ROOTS)
def test_all_folders_of_a_study_are_sealed_and_no_other(stage: str) -> None:
    root, study = ROOTS[stage]
    assert set(outs(stage)) == {f"{root}/{study}/{folder}" for folder in folders(study)}


def test_the_training_makes_every_shipped_model_and_no_other() -> None:
    """Kept in git alone, and removed before a training, so that nothing old is taken for new."""
    made = outs("train")
    assert set(made) == {f"data/models/{name}.{end}" for name in SHIPPED for end in ("json", "safetensors")}
    assert all(how == {"cache": False} for how in made.values())


def test_every_file_that_a_job_makes_lies_in_one_of_the_folders(params: Params) -> None:
    for job in jobs(params):
        for path in job.outputs:
            _, study, folder, *_ = path.split("/")
            assert study == job.stage.partition(".")[0]
            assert folder in folders(study)


@pytest.mark.parametrize("stage", ROOTS)
def test_dvc_keeps_the_files_and_git_the_small_ones(stage: str) -> None:
    """Nothing persists in the cache that git has; nothing is removed before a run, since Snakemake knows what fits."""
    for path, how in outs(stage).items():
        assert how["persist"]
        assert (how.get("cache", True) is False) == path.endswith(("/tables", "/figures"))


def test_what_a_study_depends_on_is_its_plan_alone() -> None:
    for stage, (_, study) in ROOTS.items():
        plan = f".cfeval/plans/{stage}.json"
        assert STAGES[stage]["deps"] == [plan]
        assert plan in outs("plan")
        assert STAGES[stage]["cmd"].strip().endswith(f"--plan {plan}")
        assert f"cfeval seal {study}" in " ".join(STAGES[stage]["cmd"].split())
    assert STAGES["plan"]["always_changed"]
    assert set(ROOTS) >= set(STUDIES)


def test_metrics_and_plots_are_made_by_a_job(params: Params) -> None:
    content = yaml.safe_load((ROOT / "dvc.yaml").read_text())
    made = {path for job in jobs(params) for path in job.outputs}
    assert set(content["metrics"]) | set(content["plots"]) <= made
