import json
from pathlib import Path

import pytest

from cfeval.core.extras import load
from cfeval_testbed.training import SHIPPED

MODELS = Path(__file__).resolve().parents[2] / "data" / "models"


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_models_were_trained_as_the_workflow_says(name: str) -> None:
    figures = json.loads((MODELS / f"{name}.json").read_text())
    assert (figures["seed"], figures["steps"]) == (SHIPPED[name].seed, SHIPPED[name].steps)


@pytest.mark.parametrize("name", SHIPPED)
def test_what_trains_a_shipped_model_is_there(name: str) -> None:
    assert callable(load(SHIPPED[name].train))


def test_no_network_comes_before_one_it_starts_from() -> None:
    order = list(SHIPPED)
    assert all(order.index(first) < order.index(name) for name, how in SHIPPED.items() for first in how.after)


def test_all_weights_together_are_small() -> None:
    assert sum(path.stat().st_size for path in MODELS.iterdir()) < 20e6
