"""RCSB over whole trajectories, against its code written anew in numpy with the Jacobians of network and stretch."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from cfeval.core.errors import ParamsError
from cfeval.vce.estimate import passes_of
from cfeval.vce.interfaces import Prediction
from cfeval.vce.method import Method
from cfeval.vce.models.unet_denoiser import bridge_levels
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.networks import Models
from cfeval.vce.sampler.sampler import counterfactuals
from tests.vce.sampler.latents import SIDE, TARGETS, Array, D, M, N, W, drawn, images
from tests.vce.sampler.toys import CPU, KnownDraws, ToyClassifier, ToyDenoiser, red_images

T = 40
ORIGINAL, START = np.clip(drawn(20, N, D, scale=0.4), -1, 1), drawn(21, N, D)
REGION = np.zeros((N, 3, SIDE, SIDE))
REGION[0, :, 1:4, 2:], REGION[1, :, :2] = 1, 1
SETTINGS: dict[str, Any] = {"mask": "given", "region_folder": "masks"}


def betas(steps: int, largest: float = 1.0) -> Array:
    """Of I2SB's bridge: squares that rise evenly, then mirrored."""
    rising = np.linspace(np.sqrt(1e-4), np.sqrt(largest / steps), steps)[: steps // 2] ** 2
    return np.concatenate([rising, rising[::-1]])


@dataclass
class MatrixBridge:
    """Finds (x_t − x_0)/σ as a matrix times x_t."""

    calls: int = 0
    bridge: bool = True
    classes: int = 0
    image_size: int = SIDE
    device: torch.device = CPU
    dtype: torch.dtype = torch.float64

    def __post_init__(self) -> None:
        self.alphas_cumprod = torch.tensor(1 / (1 + np.cumsum(betas(T))))

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, labels: torch.Tensor | None = None) -> Prediction:
        self.calls += 1
        own = noisy / self.alphas_cumprod[timesteps].sqrt().view(-1, 1, 1, 1)
        return Prediction((own.flatten(1) @ torch.tensor(M).T).view_as(noisy))


def transcribed(n: int, start: int, steps: int, scale: float, beta: float) -> Array:
    """One image, as `ddpm_dps_sampling` with RCSB's guidance takes it, its residual's weight being 0."""
    forward = np.sqrt(np.cumsum(betas(T)))
    backward = np.sqrt(np.cumsum(betas(T)[::-1])[::-1])
    places = [round(k * (start - 1) / steps) for k in range(steps + 1)]
    mask, original = REGION[n].ravel(), ORIGINAL[n]
    x1 = (1 - mask) * original + mask * START[n]
    share = backward[start - 1] ** 2 / (forward[start - 1] ** 2 + backward[start - 1] ** 2)
    x = share * original + (1 - share) * x1
    mean = square = np.zeros(D)
    first = 0.0
    for k in range(steps, 0, -1):
        now, before = forward[places[k]], forward[places[k - 1]]
        x0 = x - now * M @ x
        low, high = x0.argmin(), x0.argmax()
        width = x0[high] - x0[low]
        shown = 2 * (x0 - x0[low]) / width - 1
        scores = np.exp(W @ shown - (W @ shown).max())
        at_shown = W[TARGETS[n]] - scores / scores.sum() @ W
        at_x0 = 2 * at_shown / width
        inner = at_shown @ (shown + 1) / width
        at_x0[low] += inner - 2 * at_shown.sum() / width
        at_x0[high] -= inner
        gradient = at_x0 - now * M.T @ at_x0
        count = steps - k + 1
        mean, square = beta * mean + (1 - beta) * gradient, 0.999 * square + 0.001 * gradient**2
        step = mean / (1 - beta**count) / (np.sqrt(square / (1 - 0.999**count)) + 1e-8)
        first = first or float(np.linalg.norm(step))
        x = x + scale * step / first
        gap = now**2 - before**2
        x = (gap * x0 + before**2 * x) / (before**2 + gap)
        x = (1 - mask) * x1 + mask * x
    return np.clip(x, -1, 1)


@pytest.mark.parametrize(
    ("start", "steps", "scale", "decay"), [(24, 10, 1.5, 0.9), (40, 39, 0.7, 0.5), (30, 7, 4, 0.9)]
)
def test_rcsb_is_its_code(start: int, steps: int, scale: float, decay: float) -> None:
    method = Method(preset="rcsb", start=start / T, bridge_steps=steps, scales=(scale,), decay=decay, **SETTINGS)
    denoiser = MatrixBridge()
    models = Models(denoiser, ToyClassifier(weight=torch.tensor(W)))
    noise = KnownDraws({("start",): images(START)})
    regions = torch.tensor(REGION[:, :1])
    made = counterfactuals(
        images(ORIGINAL), [0] * N, method, models, Classes(TARGETS, [0] * N), draws=noise, regions=regions
    ).images
    flat = made.flatten(1).numpy()
    assert np.allclose(flat, [transcribed(n, start, steps, scale, decay) for n in range(N)], atol=1e-9)
    outside = torch.tensor(REGION) == 0
    assert torch.equal(made[outside], images(ORIGINAL)[outside])
    assert not np.allclose(flat, ORIGINAL, atol=0.1)
    assert denoiser.calls == steps == passes_of(method)["denoiser_calls"]
    assert passes_of(method)["denoiser_gradients"] == passes_of(method)["classifier_gradients"] == steps


@pytest.mark.parametrize(("steps", "largest"), [(10, 1.0), (1000, 0.3)])
def test_the_levels_are_those_of_i2sbs_betas(steps: int, largest: float) -> None:
    assert np.allclose(bridge_levels(steps, largest).numpy(), 1 / (1 + np.cumsum(betas(steps, largest))), rtol=1e-12)


def test_a_bridge_and_its_method_go_together() -> None:
    classes = Classes([1], [0])
    bridge = Models(MatrixBridge(), ToyClassifier())
    with pytest.raises(ParamsError, match="the plugin i2sb go together"):
        counterfactuals(images(ORIGINAL[:1]), [0], Method(preset="dbvce", projection="none"), bridge, classes)
    with pytest.raises(ParamsError, match="the plugin i2sb go together"):
        counterfactuals(
            red_images(1), [0], Method(preset="rcsb", region_cell=2), Models(ToyDenoiser(), ToyClassifier()), classes
        )


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"preset": "rcsb", "norm": "mean"}, "go together"),
        ({"preset": "dbvce", "norm": "first"}, "go together"),
        ({"preset": "rcsb", "mask": "none"}, "'bridge' goes with mask"),
        ({"preset": "rcsb", "stochastic": True}, "'bridge' goes with mask"),
        ({"preset": "rcsb", "respacing": "50"}, "'respacing' has no effect unless guidance is"),
        ({"preset": "dbvce", "bridge_steps": 20}, "'bridge_steps' has no effect unless guidance is 'bridge'"),
    ],
)
def test_what_does_not_go_with_it_is_said(changed: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Method(**changed)
