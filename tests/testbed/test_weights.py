"""The shipped weights: all there, small, half precision, with figures beside them."""

import json
from pathlib import Path

import numpy as np
import pytest

from cfeval.core.errors import InputError
from cfeval_testbed.training.__main__ import NAMES
from cfeval_testbed.weights import load, models_dir

FIXED = {"network.patterns"}
"""What the networks of flawed classifiers hold that is not trained."""


@pytest.mark.parametrize("name", NAMES)
def test_every_network_ships_with_its_figures(name: str) -> None:
    assert all(value.dtype == np.float16 for value in load(name).values())
    figures = json.loads((models_dir() / f"{name}.json").read_text(encoding="utf-8"))
    assert figures["name"] == name
    trained = sum(value.size for key, value in load(name).items() if key not in FIXED)
    assert figures["parameters"] >= 0.9 * trained


def test_all_weights_together_stay_small() -> None:
    assert sum(path.stat().st_size for path in models_dir().glob("*.safetensors")) < 20_000_000


def test_missing_weights_are_named() -> None:
    with pytest.raises(InputError, match=r"nothing\.safetensors are missing; restore data/models from the repository"):
        load("nothing")


def test_weights_that_are_not_installed_are_named_with_what_brings_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("cfeval_testbed.weights.models_dir", lambda: tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"none\.safetensors are missing; pip install 'cfeval\[world\]'"):
        load("none")
