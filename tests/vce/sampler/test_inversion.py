"""TIME over whole trajectories, against EDICT written anew in numpy; the steps are those of DDIM at 50 of 1000."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from cfeval.core.errors import ParamsError
from cfeval.vce.estimate import passes_of
from cfeval.vce.method import Compute, Method
from cfeval.vce.sampler.batch import Batch, Classes
from cfeval.vce.sampler.conditional import inverted
from cfeval.vce.sampler.networks import Models, Networks
from cfeval.vce.sampler.sampler import counterfactuals
from cfeval.vce.sampler.schedule import respaced
from tests.vce.sampler.latents import DECODER, LABEL_NOISE, ORIGINAL, TARGETS, Array, Latents, M, N, W, images
from tests.vce.sampler.toys import ToyClassifier, ToyDenoiser, red_images

BARS = np.cumprod(1 - np.linspace(1e-4, 0.02, 1000))
CLASSES = Classes(TARGETS, [0] * N)


def noise(x: Array, time: int, towards: int, away: int, scale: float) -> Array:
    """The predicted noise with a negative prompt."""
    noises = [math.sqrt(1 - BARS[time]) * M @ x + LABEL_NOISE[label] for label in (away, towards)]
    return noises[0] + scale * (noises[1] - noises[0])


def carried(x: Array, eps: Array, before: float, after: float) -> Array:
    """An image with the noise `eps`, taken from one ᾱ to another."""
    return math.sqrt(after / before) * x + (math.sqrt(1 - after) - math.sqrt(after * (1 - before) / before)) * eps


def transcribed(n: int, steps: int, scale: float, p: float, ahead: int) -> Array:
    """One image: inverted as class 0, denoised as its target, with each step's timestep and levels written out."""
    x = y = np.linalg.solve(DECODER, ORIGINAL[n])
    for k in range(steps):
        time = 1 + 20 * k
        levels = (BARS[time], BARS[time + 20]) if ahead else (BARS[time - 20] if k else BARS[0], BARS[time])
        y = (y - (1 - p) * x) / p
        x = (x - (1 - p) * y) / p
        y = carried(y, noise(x, time, 0, TARGETS[n], scale), *levels)
        x = carried(x, noise(y, time, 0, TARGETS[n], scale), *levels)
    for k in reversed(range(steps)):
        time = 1 + 20 * k
        levels = BARS[time], BARS[time - 20] if k else BARS[0]
        x = carried(x, noise(y, time, TARGETS[n], 0, scale), *levels)
        y = carried(y, noise(x, time, TARGETS[n], 0, scale), *levels)
        x = p * x + (1 - p) * y
        y = p * y + (1 - p) * x
    return DECODER @ x


@pytest.mark.parametrize("ahead", [0, 1])
@pytest.mark.parametrize(("steps", "scale", "p"), [(15, 4.0, 0.93), (35, 1.5, 0.93), (20, 3.0, 0.8)])
def test_time_is_its_code(steps: int, scale: float, p: float, ahead: int) -> None:
    method = Method(preset="time", scales=(scale,), starts=(steps / 50,), coupling=p, noise_ahead=ahead)
    models = Models(Latents(), ToyClassifier(weight=torch.tensor(W)))
    made = counterfactuals(images(ORIGINAL), range(N), method, models, CLASSES).images.flatten(1).numpy()
    expected = np.array([transcribed(n, steps, scale, p, ahead) for n in range(N)])
    assert np.abs(expected - ORIGINAL).max() > 0.1
    assert np.allclose(made, expected, atol=1e-9)


def test_each_scale_has_its_start_and_is_tried_on_what_has_not_flipped() -> None:
    method = Method(preset="time")
    assert [method.steps_of(attempt) for attempt in range(4)] == [15, 20, 25, 35]
    toward_first = ToyClassifier(weight=torch.zeros(3, W.shape[1], dtype=torch.float64))  # sees class 0 in every image
    denoiser = Latents()
    made = counterfactuals(images(ORIGINAL), range(N), method, Models(denoiser, toward_first), CLASSES)
    assert made.attempts.tolist() == [3, 3]
    expected = [transcribed(n, 35, 4.0, 0.93, 1) for n in range(N)]
    assert np.allclose(made.images.flatten(1).numpy(), np.array(expected), atol=1e-9)
    assert denoiser.calls == 8 * (15 + 20 + 25 + 35)
    assert (denoiser.graphs, len(toward_first.seen)) == (0, 3), "the classifier is asked for outputs alone"
    assert passes_of(method) == {"denoiser_calls": 120, "denoiser_gradients": 0, "classifier_gradients": 0}


def test_an_image_that_is_denoised_as_what_it_is_comes_back() -> None:
    denoiser = Latents()
    own, other = torch.zeros(N, dtype=torch.long), torch.ones(N, dtype=torch.long)
    start = images(ORIGINAL)
    method = Method(preset="time", noise_ahead=0, starts=(), scales=(1.0,), start=0.7)
    networks, schedule = Networks(Models(denoiser), Compute()), respaced(denoiser.alphas_cumprod, "ddim50")

    def denoised(target: torch.Tensor) -> torch.Tensor:
        batch = Batch(start, (0,) * N, labels=target, other_labels=own, latents=start)
        return inverted(method, networks, schedule, batch, 0, 1.0, lambda *purpose: start)

    assert torch.allclose(denoised(own), start, atol=1e-9)
    assert not torch.allclose(denoised(other), start, atol=1e-2)


def test_a_denoiser_without_classes_is_refused_in_one_line() -> None:
    with pytest.raises(ParamsError, match="'inversion' needs a denoiser that is conditional on classes"):
        counterfactuals(
            red_images(1), [0], Method(preset="time"), Models(ToyDenoiser(), ToyClassifier()), Classes([1], [0])
        )


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"preset": "time", "starts": (0.3,)}, "starts has 1 values for 4 scales"),
        ({"preset": "time", "starts": (0.3, 0.4, 0.5, 1.0)}, "noise beyond the last step"),
        ({"preset": "time", "stochastic": True}, "'inversion' goes with"),
        ({"preset": "time", "distance": "x0"}, "'inversion' goes with"),
        ({"preset": "time", "loss": "logit"}, "'loss' has no effect unless guidance is"),
        ({"preset": "dbvce", "coupling": 0.9}, "'coupling' has no effect unless guidance is 'inversion'"),
        ({"preset": "dbvce", "starts": (0.9,)}, "'starts' has no effect unless guidance is 'inversion'"),
    ],
)
def test_what_does_not_go_with_it_is_said(changed: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Method(**changed)
