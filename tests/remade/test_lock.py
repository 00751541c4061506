"""What `dvc.lock` says that stages depend on is what `dvc.yaml` says."""

from typing import Any

import pytest
import yaml

from tests.workflow.study import PROJECT

STAGES, LOCKED = (yaml.safe_load((PROJECT / name).read_text())["stages"] for name in ("dvc.yaml", "dvc.lock"))


def paths(listed: list[Any]) -> set[str]:
    """The paths of dependencies or outputs, with or without options."""
    return {next(iter(one)) if isinstance(one, dict) else one for one in listed}


@pytest.mark.parametrize("stage", LOCKED)
def test_a_locked_stage_depends_on_what_it_says(stage: str) -> None:
    assert {one["path"] for one in LOCKED[stage].get("deps", ())} == paths(STAGES[stage].get("deps", []))
    assert {one["path"] for one in LOCKED[stage].get("outs", ())} == paths(STAGES[stage].get("outs", []))
