"""Every denoiser passes the family's contract."""

from pathlib import Path
from typing import Any

import pytest
import torch

from cfeval.core import registry
from tests.tiny.denoisers import bridge, guided, pipeline
from tests.vce.models.variants import options

VARIANT = "as 256, conditional"


def made(name: str, folder: Path) -> dict[str, Any]:
    """The specification with which a denoiser is put to the test."""
    if name == "guided_diffusion":
        return options(VARIANT, guided(folder, VARIANT))
    if name == "i2sb":
        own = {key: value for key, value in options("no variance", bridge(folder)).items() if key != "noise_schedule"}
        return {**own, "plugin": "i2sb"}
    if name == "diffusers":
        pipeline(folder)
        return {"plugin": "diffusers", "model": str(folder), "device": "cpu"}
    return {"plugin": name}


@pytest.mark.parametrize("name", registry.names("denoisers"))
def test_a_denoiser_finds_noise_and_lets_gradients_through(name: str, tmp_path: Path) -> None:
    denoiser = registry.build("denoisers", made(name, tmp_path))
    steps = len(denoiser.alphas_cumprod)
    assert denoiser.alphas_cumprod.dtype == torch.float64
    assert (denoiser.alphas_cumprod.diff() < 0).all()
    noisy = torch.randn(2, 3, denoiser.image_size, denoiser.image_size, dtype=denoiser.dtype, requires_grad=True)
    labels = torch.tensor([0, denoiser.classes - 1]) if denoiser.classes else None
    found = denoiser.predict(noisy, torch.tensor([0, steps - 1]), labels)
    assert (found.noise.shape, found.noise.dtype) == (noisy.shape, denoiser.dtype)
    assert found.variance is None or found.variance.shape == noisy.shape
    alone = denoiser.predict(noisy[1:], torch.tensor([steps - 1]), None if labels is None else labels[1:])
    assert torch.allclose(alone.noise, found.noise[1:], atol=1e-4), "no image depends on its batch"
    (gradient,) = torch.autograd.grad(found.noise.square().sum(), noisy)
    assert gradient.abs().sum() > 0
