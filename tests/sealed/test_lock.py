"""What `dvc.lock` says that stages depend on is what `dvc.yaml` says: nothing of it has moved since it was sealed."""

from typing import Any

import pytest
import yaml

from tests.workflow.study import PROJECT

STAGES, SEALED = (yaml.safe_load((PROJECT / name).read_text())["stages"] for name in ("dvc.yaml", "dvc.lock"))


def paths(listed: list[Any]) -> set[str]:
    """The paths of dependencies or outputs, with or without options."""
    return {next(iter(one)) if isinstance(one, dict) else one for one in listed}


@pytest.mark.parametrize("stage", SEALED)
def test_a_sealed_stage_depends_on_what_it_says(stage: str) -> None:
    assert {one["path"] for one in SEALED[stage].get("deps", ())} == paths(STAGES[stage].get("deps", []))
    assert {one["path"] for one in SEALED[stage].get("outs", ())} == paths(STAGES[stage].get("outs", []))
