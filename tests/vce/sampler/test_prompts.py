"""DiG-IN over whole runs, against its code written anew: null-text inversion, then Adam on start and texts."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from cfeval.core.errors import ParamsError
from cfeval.vce.estimate import passes_of
from cfeval.vce.interfaces import Prediction
from cfeval.vce.method import Compute, Method
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.networks import Models
from cfeval.vce.sampler.sampler import counterfactuals
from cfeval.vce.sampler.schedule import linear
from tests.vce.sampler.latents import DECODER, ORIGINAL, D, M, N, W, drawn, images
from tests.vce.sampler.toys import CPU, ToyClassifier, ToyDenoiser, red_images

TOKENS, WIDTH = 2, 3
TEXTS = torch.tensor(drawn(30, 4, TOKENS, WIDTH))  # of three classes and the empty prompt
TEXT_WEIGHT = torch.tensor(drawn(31, D, TOKENS * WIDTH, scale=0.3))
MATRIX, OUT = torch.tensor(M), torch.tensor(DECODER)
BARS = linear(1000)
TARGETS = [1, 2]


def noise_of(x: Tensor, time: int, text: Tensor) -> Tensor:
    """The noise in a flat latent under a text: both bend each other."""
    size = math.sqrt(1 - BARS[time])
    bent = TEXT_WEIGHT @ text.flatten()
    return size * (MATRIX @ x + 0.2 * bent * x.tanh()) + 0.1 * bent


@dataclass
class TextDenoiser:
    """A denoiser of latents that is told texts; it counts its calls, and those through which a gradient flows."""

    calls: int = 0
    graphs: int = 0
    no_class: int = 3
    classes: int = 3
    image_size: int = 5
    device: torch.device = CPU
    dtype: torch.dtype = torch.float64
    alphas_cumprod = BARS

    def text(self, labels: Tensor) -> Tensor:
        return TEXTS[labels]

    def predict_under(self, noisy: Tensor, timesteps: Tensor, text: Tensor) -> Prediction:
        self.calls += len(noisy)
        self.graphs += torch.is_grad_enabled() and (noisy.requires_grad or text.requires_grad)
        rows = [noise_of(x.flatten(), int(t), c) for x, t, c in zip(noisy, timesteps, text, strict=True)]
        return Prediction(torch.stack(rows).view_as(noisy))

    def predict(self, noisy: Tensor, timesteps: Tensor, labels: Tensor | None = None) -> Prediction:
        assert labels is not None
        return self.predict_under(noisy, timesteps, TEXTS[labels])

    def encode(self, given: Tensor) -> Tensor:
        return (given.flatten(1) @ OUT.inverse().T).view_as(given)

    def decode(self, latents: Tensor) -> Tensor:
        return (latents.flatten(1) @ OUT.T).view_as(latents)


class HandAdam:
    """Adam as its paper writes it, for one tensor."""

    def __init__(self, rate: float) -> None:
        self.rate, self.mean, self.square, self.count = rate, 0.0, 0.0, 0

    def step(self, value: Tensor, gradient: Tensor) -> Tensor:
        self.count += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.999 * self.square + 0.001 * gradient**2
        mean, square = self.mean / (1 - 0.9**self.count), self.square / (1 - 0.999**self.count)
        return value - self.rate * mean / (square.sqrt() + 1e-8)  # type: ignore[union-attr]


def moved(x: Tensor, eps: Tensor, before: float, after: float) -> Tensor:
    """DDIM, from one ᾱ to another."""
    x0 = (x - math.sqrt(1 - before) * eps) / math.sqrt(before)
    return math.sqrt(after) * x0 + math.sqrt(1 - after) * eps


def null_texts(
    z: Tensor, text: Tensor, levels: list[float], times: list[int], scale: float
) -> tuple[Tensor, list[Tensor]]:
    """Where an image comes from, and the null text of each step, from the top."""
    path = [z]
    for k, time in enumerate(times):
        path.append(moved(path[-1], noise_of(path[-1], time, text), levels[k], levels[k + 1]))
    null, current, nulls = TEXTS[3], path[-1], []
    for i in range(len(times)):
        k = len(times) - 1 - i
        adam = HandAdam(1e-2 * (1 - i / 100))
        towards = noise_of(current, times[k], text)

        def back(null: Tensor, k: int = k, current: Tensor = current, towards: Tensor = towards) -> Tensor:
            away = noise_of(current, times[k], null)
            return moved(current, away + scale * (towards - away), levels[k + 1], levels[k])

        for _ in range(10):
            leaf = null.clone().requires_grad_()
            error = (back(leaf) - path[k]).pow(2).mean()
            null = adam.step(null, torch.autograd.grad(error, leaf)[0])
            if error.item() < 1e-5 + 2e-5 * i:
                break
        nulls.append(null)
        current = back(null)
    return path[-1], nulls


def transcribed(n: int, count: int, rounds: int, scale: float, loss_of: Callable[[Tensor, int], Tensor]) -> Tensor:
    """One image's counterfactual, decoded."""
    times = [1 + k * (1000 // count) for k in range(count)]
    levels = [float(BARS[0]), *(float(BARS[time]) for time in times)]
    start, nulls = null_texts(OUT.inverse() @ torch.tensor(ORIGINAL[n]), TEXTS[0], levels, times, scale)
    size, values = start.norm(), [start, torch.stack([TEXTS[0]] * count), torch.stack(nulls)]
    adams = [HandAdam(0.001), HandAdam(0.01), HandAdam(0.01)]
    kept: list[tuple[float, Tensor]] = []
    for _ in range(rounds + 1):
        leaves = [value.clone().requires_grad_() for value in values]
        x, last = leaves[0], []
        for i in range(count):
            k = count - 1 - i
            away, towards = noise_of(x, times[k], leaves[2][i]), noise_of(x, times[k], leaves[1][i])
            eps = away + scale * (towards - away)
            last.append((x - math.sqrt(1 - levels[k + 1]) * eps) / math.sqrt(levels[k + 1]))
            x = moved(x, eps, levels[k + 1], levels[k])
        losses = [loss_of(OUT @ latent, n) for latent in last[-3:]]
        kept.append((losses[-1].item(), (OUT @ last[-1]).detach()))
        total = losses[0] / 6 + losses[1] / 3 + losses[2] / 2
        gradients = torch.autograd.grad(total, leaves)
        values = [adam.step(value, g) for adam, value, g in zip(adams, values, gradients, strict=True)]
        values[0] = values[0] * size / values[0].norm()
    return min(kept, key=lambda pair: pair[0])[1]


def cross_entropy(image: Tensor, n: int) -> Tensor:
    return -(torch.tensor(W) @ image.clamp(-1, 1)).log_softmax(0)[TARGETS[n]]


def with_distance(image: Tensor, n: int) -> Tensor:
    difference = (image.clamp(-1, 1) - torch.tensor(ORIGINAL[n])) / 2
    return 0.5 * cross_entropy(image, n) + 40 * difference.pow(2).mean()


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize(
    ("count", "rounds", "scale", "extra", "loss_of"),
    [
        (5, 4, 3.0, {}, cross_entropy),
        (4, 6, 1.5, {"distance": "image", "lp": 2.0, "lp_weight": 40.0, "scales": (0.5,)}, with_distance),
    ],
)
def test_dig_in_is_its_code(
    count: int, rounds: int, scale: float, extra: dict[str, Any], loss_of: Callable[..., Tensor], checkpoint: bool
) -> None:
    method = Method(preset="dig-in", respacing=f"ddim{count}", prompt_steps=rounds, prompt_scale=scale, **extra)
    models = Models(TextDenoiser(), ToyClassifier(weight=torch.tensor(W)))
    made = counterfactuals(
        images(ORIGINAL), [0] * N, method, models, Classes(TARGETS, [0] * N), Compute(checkpoint=checkpoint)
    ).images.flatten(1)
    expected = torch.stack([transcribed(n, count, rounds, scale, loss_of) for n in range(N)])
    assert torch.allclose(made, expected, atol=1e-8)
    assert not torch.allclose(made, torch.tensor(ORIGINAL), atol=1e-2)


def test_an_image_moves_towards_its_target_and_no_pass_is_uncounted() -> None:
    method = Method(preset="dig-in", respacing="ddim5", prompt_steps=8, prompt_rate=0.05)
    denoiser, classifier = TextDenoiser(), ToyClassifier(weight=torch.tensor(W))
    models = Models(denoiser, classifier)
    made = counterfactuals(images(ORIGINAL), [0] * N, method, models, Classes(TARGETS, [0] * N)).images

    def targets(shown: Tensor) -> Tensor:
        return classifier.logits(shown).log_softmax(1)[range(N), TARGETS]

    assert bool((targets(made) > targets(images(ORIGINAL))).all())
    costs = passes_of(method)
    assert 5 * (1 + 3 + 2 * 9) <= denoiser.calls / N <= costs["denoiser_calls"] == method.denoiser_calls == 5 * 31
    assert denoiser.graphs / N <= costs["denoiser_gradients"] + 2 * 5, "the last round takes none"


def test_a_denoiser_that_is_told_no_text_is_refused_in_one_line() -> None:
    models = Models(ToyDenoiser(classes=3), ToyClassifier())
    with pytest.raises(ParamsError, match="'prompts' needs a denoiser that is told a text"):
        counterfactuals(red_images(1), [0], Method(preset="dig-in"), models, Classes([1], [0]))


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"preset": "dig-in", "distance": "x0"}, "'prompts' goes with distance"),
        ({"preset": "dig-in", "stochastic": True}, "'prompts' goes with distance"),
        ({"preset": "dig-in", "mask": "given", "region_folder": "m"}, "'mask' has no effect unless guidance is"),
        ({"preset": "ace", "prompt_steps": 3}, "'prompt_steps' has no effect unless guidance is 'prompts'"),
    ],
)
def test_what_does_not_go_with_it_is_said(changed: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Method(**changed)
