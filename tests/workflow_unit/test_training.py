import json
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[2]
TRAININGS = yaml.safe_load((PROJECT / "workflow/training.yaml").read_text())["trainings"]


@pytest.mark.parametrize("name", TRAININGS)
def test_the_shipped_models_were_trained_as_the_workflow_says(name: str) -> None:
    figures = json.loads((PROJECT / f"data/models/{name}.json").read_text())
    assert {key: figures[key] for key in ("seed", "steps")} == {key: TRAININGS[name][key] for key in ("seed", "steps")}
