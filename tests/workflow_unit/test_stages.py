"""dvc.yaml against the project: what stages depend on is there, and what the studies make is sealed."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from cfeval.report import figures
from cfeval.tables import NAMES

ROOT = Path(__file__).parents[2]
STAGES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]


def outs(stage: str) -> set[str]:
    """The outputs of a stage."""
    return {next(iter(out)) if isinstance(out, dict) else out for out in STAGES[stage].get("outs", ())}


def test_every_parameter_that_a_stage_depends_on_stands_in_the_parameters() -> None:
    content = yaml.safe_load((ROOT / "params.yaml").read_text())
    for name, stage in STAGES.items():
        for key in (key for key in stage.get("params", ()) if isinstance(key, str)):
            place: Any = content
            for part in key.split("."):
                assert part in place, f"dvc repro {name} fails: {key} is not in params.yaml"
                place = place[part]


def test_every_result_that_a_stage_depends_on_is_sealed_by_another() -> None:
    sealed = {out for stage in STAGES for out in outs(stage)}
    needed = {dep for stage in STAGES.values() for dep in stage.get("deps", ()) if str(dep).startswith("results/")}
    assert needed <= sealed


@pytest.mark.parametrize("study", ["vce", "cvqa"])
def test_the_tables_and_figures_of_a_study_are_sealed(study: str) -> None:
    made = {f"results/tables/{study}_{name}.{ending}" for name in NAMES[study] for ending in ("csv", "md", "tex")}
    made |= {
        f"results/figures/{study}_{name}.{ending}" for name in figures.TABLE_OF[study] for ending in ("png", "svg")
    }
    made |= {f"results/{folder}/.{study}_provenance.json" for folder in ("tables", "figures")}
    assert outs(f"{study}_tables") == made | {f"results/tables/{study}_metrics.json"}


@pytest.mark.parametrize("phase", ["questions", "answers", "scores"])
def test_a_phase_of_cvqa_seals_the_folders_that_its_rules_write(phase: str) -> None:
    folders = {"questions": {"questions", "drafts", "reviews", "fates"}}.get(phase, {phase})
    assert outs(f"cvqa_{phase}") == {f"results/cvqa/{folder}" for folder in folders}
