"""ACE's two stages over whole trajectories, against a transcription of its description whose gradient is a difference.

The reference knows no automatic differentiation: each entry of its gradient is what the loss changes when the pixel is
moved by a little to both sides, with the noise held still.
"""

import math
from typing import Any

import numpy as np
import pytest
import torch

from cfeval.core.errors import ParamsError
from cfeval.vce.estimate import passes_of
from cfeval.vce.method import Compute, Method
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.networks import Models
from cfeval.vce.sampler.sampler import counterfactuals
from tests.vce.sampler.toys import KnownDraws, MatrixDenoiser, ToyClassifier, ToyDenoiser, red_images

SIDE, N, STEPS, ITERATIONS = 3, 2, 3, 4
D = 3 * SIDE * SIDE
Array = np.ndarray[Any, np.dtype[np.float64]]


def drawn(seed: int, *shape: int, scale: float = 1.0) -> Array:
    return np.random.default_rng(seed).normal(size=shape) * scale


STEP = 1 / 16
ORIGINAL = np.round(512 * np.clip(drawn(0, N, D, scale=0.4), -0.9, 0.9)) / 512
"""With the step exact in binary, so that a pixel that went to and fro is where it was, in both computations."""
M, OFFSET, V = 0.6 * np.eye(D) + drawn(2, D, D, scale=0.05), drawn(3, D, scale=0.1), drawn(4, D, D, scale=0.1)
W, TARGETS = drawn(5, 3, D), [1, 2]
PURPOSES = [
    ("start",),
    *(("keep", 0, index) for index in range(STEPS)),
    *(("step", 0, index) for index in range(1, STEPS)),
    *(("attack", 0, number) for number in range(ITERATIONS)),
    *(("attack", 0, number, index) for number in range(ITERATIONS) for index in range(1, STEPS)),
]
NOISE: dict[tuple[str | int, ...], Array] = {purpose: drawn(20 + place, N, D) for place, purpose in enumerate(PURPOSES)}


class Reference:
    """The description of ACE for one image, in numbers between 0 and 1 where it counts in those."""

    def __init__(self, number: int, learned: bool, weight: float) -> None:
        self.number, self.learned, self.weight = number, learned, weight
        full = np.cumprod(1 - np.linspace(1e-4, 0.02, 1000))
        self.bars = full[[round(i * 999 / 5) for i in range(6)]]

    def noise(self, *purpose: str | int) -> Array:
        return NOISE[purpose][self.number]

    def noised(self, image: Array, index: int, noise: Array) -> Array:
        return math.sqrt(self.bars[index]) * image + math.sqrt(1 - self.bars[index]) * noise

    def back(self, x: Array, index: int, noise: Array | None) -> Array:
        bar, before = self.bars[index], self.bars[index - 1] if index else 1.0
        beta = 1 - bar / before
        x0 = np.clip((x - math.sqrt(1 - bar) * (M @ x + OFFSET)) / math.sqrt(bar), -1, 1)
        mean = (beta * math.sqrt(before) * x0 + (1 - before) * math.sqrt(1 - beta) * x) / (1 - bar)
        if noise is None:
            return mean
        low = math.log(beta * (1 - before) / (1 - bar))
        share = (V @ x + 1) / 2 if self.learned else 0.0
        return mean + np.exp(0.5 * (share * math.log(beta) + (1 - share) * low)) * noise

    def loss(self, image: Array, number: int) -> float:
        """Cross entropy of the target class in what is denoised of an image in [0, 1]."""
        x = self.noised(2 * image - 1, STEPS - 1, self.noise("attack", 0, number))
        for index in reversed(range(STEPS)):
            x = self.back(x, index, self.noise("attack", 0, number, index) if index else None)
        scores = W @ x
        return float(np.log(np.exp(scores - scores.max()).sum()) + scores.max() - scores[TARGETS[self.number]])

    def attacked(self) -> Array:
        original = (ORIGINAL[self.number] + 1) / 2
        image = original.copy()
        for number in range(ITERATIONS):
            sides = [[self.loss(image + sign * 1e-6 * unit, number) for unit in np.eye(D)] for sign in (1, -1)]
            gradient = (np.array(sides[0]) - np.array(sides[1])) / 2e-6 + self.weight * np.sign(image - original)
            image = np.clip(image - STEP * np.sign(gradient), 0, 1)
        return 2 * image - 1

    def repaired(self, side: int, threshold: float) -> Array:
        attacked, original = self.attacked(), ORIGINAL[self.number]
        difference = np.abs(attacked - original).reshape(3, SIDE, SIDE).sum(0)
        difference /= difference.max()
        reach = side // 2
        near = [
            [
                difference[max(r - reach, 0) : r + reach + 1, max(c - reach, 0) : c + reach + 1].max()
                for c in range(SIDE)
            ]
            for r in range(SIDE)
        ]
        kept = np.tile((np.array(near) < threshold).ravel(), 3)
        x = self.noised(attacked, STEPS - 1, self.noise("start"))
        for index in reversed(range(STEPS)):
            x = np.where(kept, self.noised(original, index, self.noise("keep", 0, index)), x)
            x = self.back(x, index, self.noise("step", 0, index) if index else None)
        return np.clip(np.where(kept, original, x), -1, 1)


def as_images(values: Array) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64).view(-1, 3, SIDE, SIDE)


@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize(
    ("learned", "weight", "side", "threshold"), [(True, 0.001, 1, 0.6), (False, 0.3, 1, 0.9), (True, 0.05, 3, 0.15)]
)
def test_ace_is_its_description(learned: bool, weight: float, side: int, threshold: float, checkpointed: bool) -> None:
    chosen = Method(
        preset="ace",
        respacing="6",
        start=0.5,
        attack_iterations=ITERATIONS,
        attack_step=STEP,
        lp_weight=weight,
        mask_dilation=side,
        mask_threshold=threshold,
    )
    matrices = (torch.tensor(M), torch.tensor(OFFSET), torch.tensor(V) if learned else None)
    models = Models(MatrixDenoiser(*matrices, SIDE, dtype=torch.float64), ToyClassifier(weight=torch.tensor(W)))
    noise = KnownDraws({purpose: as_images(values) for purpose, values in NOISE.items()})
    how = Compute(checkpoint=checkpointed)
    found = counterfactuals(as_images(ORIGINAL), [0] * N, chosen, models, Classes(TARGETS, [0] * N), how, draws=noise)
    expected = np.array([Reference(number, learned, weight).repaired(side, threshold) for number in range(N)])
    assert np.abs(expected - ORIGINAL).max() > 0.05, "something changed"
    assert np.allclose(found.images.flatten(1).numpy(), expected, atol=1e-9)


def test_an_attack_costs_its_iterations_through_all_steps_and_once_more() -> None:
    chosen, denoiser = Method(preset="ace", attack_iterations=3), ToyDenoiser()
    made = counterfactuals(red_images(2), [0, 1], chosen, Models(denoiser, ToyClassifier()), Classes([1, 1], [0, 0]))
    assert bool(made.finite.all())
    assert (chosen.steps, len(denoiser.calls)) == (5, chosen.denoiser_calls)
    with_graph = sum(graph for _, _, graph in denoiser.calls)
    costs = passes_of(chosen)
    assert (len(denoiser.calls), with_graph) == (costs["denoiser_calls"], costs["denoiser_gradients"]) == (20, 15)


def test_halving_where_memory_is_short_changes_nothing() -> None:
    chosen = Method(preset="ace", attack_iterations=3)
    images, classes = red_images(4), Classes([1] * 4, [0] * 4)
    whole = counterfactuals(images, range(4), chosen, Models(ToyDenoiser(), ToyClassifier()), classes)
    short = counterfactuals(images, range(4), chosen, Models(ToyDenoiser(limit=1), ToyClassifier()), classes)
    assert short.batch == 1
    assert torch.allclose(whole.images, short.images, atol=1e-5)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"preset": "ace", "norm": "mean"}, "guidance 'attack' goes with norm 'none'"),
        ({"preset": "ace", "distance": "x0"}, "guidance 'attack' goes with norm 'none'"),
        ({"preset": "dbvce", "distance": "image"}, "distance 'image' is of an attacked image"),
        ({"preset": "dbvce", "attack_iterations": 7}, "'attack_iterations' has no effect unless guidance is 'attack'"),
    ],
)
def test_what_does_not_go_with_an_attack_is_said_in_one_line(changed: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Method(**changed)


def test_a_denoiser_of_latents_cannot_attack_pixels() -> None:
    class Latents(ToyDenoiser):
        encode = decode = lambda self, images: images

    models = Models(Latents(), ToyClassifier())
    with pytest.raises(ParamsError, match="moves pixels"):
        counterfactuals(red_images(1), [0], Method(preset="ace"), models, Classes([1], [0]))


def test_other_methods_have_none_of_its_settings_in_their_records() -> None:
    assert "attack_step" not in Method(preset="dbvce").resolved()
    settings = Method(preset="ace", attack_iterations=100).resolved()
    assert (settings["attack_iterations"], Method(**settings).resolved()) == (100, settings)
