"""Checkpoints of I2SB as denoisers, and a counterfactual across one from the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cfeval.core import registry
from cfeval.core.errors import CfevalError
from cfeval.core.images import load as load_image
from cfeval.core.jsonl import read_jsonl
from cfeval.vce.records import SourceImage, VceCounterfactual
from tests.conftest import Run
from tests.tiny.denoisers import bridge, guided, original
from tests.vce.models.variants import options


def spec(path: Path, **changes: Any) -> dict[str, Any]:
    own = {key: value for key, value in options("no variance", path).items() if key != "noise_schedule"}
    return {**own, "plugin": "i2sb", **changes}


def test_it_finds_what_the_network_does_at_the_bridges_own_times(tmp_path: Path) -> None:
    denoiser = registry.build("denoisers", spec(bridge(tmp_path)))
    sigma = (1 / denoiser.alphas_cumprod - 1).sqrt().float()
    noisy, steps = torch.randn(2, 3, 32, 32), torch.tensor([3, 900])
    with torch.no_grad():
        times = torch.linspace(1e-4, 1, 1000)[steps] * 1000
        expected = original("no variance").eval()(noisy, times)
        scaled = noisy / (1 + sigma[steps] ** 2).sqrt().view(-1, 1, 1, 1)
        predicted = denoiser.predict(scaled, steps).noise
    assert torch.allclose(predicted, expected, atol=1e-5)
    assert denoiser.bridge


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"noise_schedule": "linear"}, "a schedule of its own; leave noise_schedule out"),
        ({"diffusion_steps": 501}, "multiple of 2"),
        ({"num_channels": 64}, "does not fit the architecture"),
        (None, "is no bridge of I2SB"),
    ],
)
def test_what_does_not_fit_is_one_line(tmp_path: Path, changes: dict[str, Any] | None, line: str) -> None:
    path = guided(tmp_path, "no variance") if changes is None else bridge(tmp_path)
    with pytest.raises(CfevalError, match=line):
        registry.build("denoisers", spec(path, **(changes or {})))


@pytest.mark.slow
def test_rcsb_from_params_to_counterfactual(cfeval: Run, tmp_path: Path) -> None:
    """On the test bed's cells and classifiers: only the region where the classifier looks changes."""
    world, images, out = {"plugin": "world"}, tmp_path / "images.jsonl", tmp_path / "made.jsonl"
    status, _, err = cfeval(
        *("vce", "images", "--image-set", json.dumps(world), "--label", "red circle", "--count", 2, "--size", 32),
        *("--seed", 3, "--out", images),
    )
    assert status == 0, err
    # The test bed's classifiers compute in float64, networks of I2SB in float32.
    classifier = {"plugin": "world", "dtype": "float32"}
    method = {"preset": "rcsb", "bridge_steps": 5, "region_cell": 8}
    status, _, err = cfeval(
        *("vce", "counterfactuals", "--images", images, "--denoiser", json.dumps(spec(bridge(tmp_path)))),
        *("--classifier", json.dumps(classifier), "--method", json.dumps(method), "--seed", 3, "--out", out),
        *("--groups", json.dumps([{"source": "red circle", "target": "red square"}])),
    )
    assert status == 0, err
    sources = {record.id: record for record in read_jsonl(images, SourceImage)}
    for record in read_jsonl(out, VceCounterfactual):
        assert record.image is not None
        before = load_image(images.with_suffix(""), sources[record.source_image].image).pixels
        after = load_image(out.with_suffix(""), record.image).pixels
        changed = (before != after).any(2).reshape(4, 8, 4, 8).any((1, 3))
        assert 0 < int(np.count_nonzero(changed)) <= int(0.3 * 16)
