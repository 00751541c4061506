"""DBVCE's loop, step by step, against a transcription of its description in numpy (specification, Section 2)."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch

from cfeval.vce.method import Compute, Method
from cfeval.vce.sampler.batch import Batch, Classes, State
from cfeval.vce.sampler.networks import Models, Networks
from cfeval.vce.sampler.sampler import Sampler, counterfactuals, step
from cfeval.vce.sampler.schedule import respaced
from tests.vce.sampler.toys import KnownDraws, MatrixDenoiser, ToyClassifier

SIDE, N, STEPS = 2, 2, 4
D = 3 * SIDE * SIDE
Array = np.ndarray[Any, np.dtype[np.float64]]


def drawn(seed: int, *shape: int, scale: float = 1.0) -> Array:
    return np.random.default_rng(seed).normal(size=shape) * scale


ORIGINAL = np.clip(drawn(0, N, D, scale=0.4), -1, 1)
START, NOISE = drawn(1, N, D), {index: drawn(10 + index, N, D) for index in range(1, STEPS)}
M, OFFSET, V = 0.6 * np.eye(D) + drawn(2, D, D, scale=0.1), drawn(3, D, scale=0.1), drawn(4, D, D, scale=0.1)
W, R = drawn(5, 3, D), drawn(6, 3, D)
TARGETS = [1, 2]


def log_probability_gradient(weight: Array, x: Array, target: int) -> Array:
    """∇ log softmax(weight · x)[target] = weight[target] − Σ p_c weight[c]."""
    scores = np.exp(weight @ x - (weight @ x).max())
    return weight[target] - (scores / scores.sum()) @ weight


def boundary_or_axis(robust: Array, explained: Array) -> Array:
    axis = explained / np.linalg.norm(explained)
    angle = math.acos(robust @ explained / np.linalg.norm(robust) / np.linalg.norm(explained))
    across = robust - (robust @ axis) * axis
    return axis + math.tan(math.radians(30)) * across / np.linalg.norm(across) if angle > math.radians(30) else axis


def transcribed(straight: bool, with_cone: bool, p: float) -> Array:
    """The generation loop of the specification, one image after the other, with Jacobians written out."""
    betas = np.linspace(1e-4, 0.02, 1000)
    full = np.cumprod(1 - betas)
    kept = [round(i * 999 / 7) for i in range(8)]  # respacing "8"; the last half is executed
    bars = full[kept]
    results = []
    for n in range(N):
        x = math.sqrt(bars[STEPS - 1]) * ORIGINAL[n] + math.sqrt(1 - bars[STEPS - 1]) * START[n]
        for i in reversed(range(STEPS)):
            bar, before = bars[i], bars[i - 1] if i else 1.0
            beta = 1 - bar / before
            eps, v = M @ x + OFFSET, V @ x
            x0 = math.sqrt(1 / bar) * x - math.sqrt(1 / bar - 1) * eps
            jacobian = math.sqrt(1 / bar) * np.eye(D) - math.sqrt(1 / bar - 1) * M
            mean = beta * math.sqrt(before) / (1 - bar) * x0 + (1 - before) * math.sqrt(1 - beta) / (1 - bar) * x
            tilde = [(1 - bars[k] / bars[k - 1]) * (1 - bars[k - 1]) / (1 - bars[k]) for k in range(1, 8)]
            low = math.log(tilde[i - 1] if i else tilde[0])
            log_variance = (v + 1) / 2 * math.log(beta) + (1 - (v + 1) / 2) * low
            gradient = log_probability_gradient(W, x0, TARGETS[n])
            other = log_probability_gradient(R, x0, TARGETS[n])
            if not straight:
                gradient, other = jacobian.T @ gradient, jacobian.T @ other
            if with_cone:
                gradient = boundary_or_axis(other, gradient)
            distance = p * np.abs(x0 - ORIGINAL[n]) ** (p - 1) * np.sign(x0 - ORIGINAL[n])
            pull = 0.1 * gradient / np.linalg.norm(gradient) - 0.15 * distance / np.linalg.norm(distance)
            x = mean + np.exp(log_variance) * np.linalg.norm(mean) * pull
            if i:
                x = x + np.exp(0.5 * log_variance) * NOISE[i][n]
        results.append(x)
    return np.array(results)


def as_images(values: Array) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32).view(-1, 3, SIDE, SIDE)


def tensor(values: Array) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


@pytest.mark.parametrize(("straight", "with_cone", "p"), itertools.product((True, False), (True, False), (1.0, 2.0)))
def test_reference_mode_is_the_loop_of_the_specification(straight: bool, with_cone: bool, p: float) -> None:
    method = Method(
        preset="dbvce",
        mode="reference",
        respacing="8",
        guidance="straight" if straight else "x0",
        projection="cone" if with_cone else "none",
        lp=p,
    )
    models = Models(
        MatrixDenoiser(tensor(M), tensor(OFFSET), tensor(V), SIDE),
        ToyClassifier(weight=tensor(W)),
        ToyClassifier(weight=tensor(R), robust=True),
    )
    noise = KnownDraws({("start",): as_images(START), **{("step", 0, i): as_images(n) for i, n in NOISE.items()}})
    images = as_images(ORIGINAL)
    found = counterfactuals(images, [0] * N, method, models, Classes(TARGETS, [0] * N), draws=noise)
    assert np.allclose(found.images.flatten(1).numpy(), transcribed(straight, with_cone, p), atol=2e-4, rtol=2e-4)


def test_a_step_on_two_pixels_is_the_one_worked_out_by_hand() -> None:
    # ᾱ = 0.8, 0.5, so that β₁ = 1 − 0.5/0.8 = 0.375 and β̃₁ = 0.375 · 0.2/0.5 = 0.15; ε = 0.5 x_t, original 0.
    # x̂₀ = √2 x_t − ε = 0.914214 x_t; μ = 0.375 √0.8/0.5 x̂₀ + 0.2 √0.625/0.5 x_t = 0.929501 x_t, and |x_t| = 1.
    # The logits are the two pixels: the gradient towards class 0 is (p₁, −p₁), its unit vector (1, −1)/√2.
    # The distance is sign(x̂₀) = (1, 1), its unit vector (1, 1)/√2.
    # direction = 0.929501 (0.1 (1, −1) − 0.15 (1, 1))/√2 = (−0.032863, −0.164314).
    # μ' = (0.557701 − 0.15 · 0.032863, 0.743601 − 0.15 · 0.164314) = (0.552771, 0.718954).
    # x_{t−1} = μ' + √0.15 (1, −1) = (0.940070, 0.331655).
    bars = torch.tensor([0.8, 0.5], dtype=torch.float64)
    denoiser = MatrixDenoiser(0.5 * torch.eye(2), torch.zeros(2), None, 2, alphas_cumprod=bars)
    classifier = ToyClassifier(classes=("left", "right"), weight=torch.eye(2))
    method = Method(preset="dbvce", mode="reference", respacing="2", projection="none", guidance="straight")
    noise = KnownDraws({("step", 0, 1): torch.tensor([1.0, -1.0]).view(1, 1, 1, 2)})
    sampler = Sampler(method, Networks(Models(denoiser, classifier), Compute()), respaced(bars, "2"), noise)
    noisy = torch.tensor([0.6, 0.8]).view(1, 1, 1, 2)
    still = torch.zeros_like(noisy)
    after = step(sampler, Batch(still, (0,), torch.tensor([0])), State(noisy, still, still), 1, 0, 0.1)
    assert after.x0.flatten().tolist() == pytest.approx([0.548528, 0.731371], abs=2e-6)
    assert after.noisy.flatten().tolist() == pytest.approx([0.940070, 0.331655], abs=2e-6)


def test_the_last_of_two_steps_adds_no_noise() -> None:
    # At ᾱ = 0.8, ε = 0.5 x_t: x̂₀ = (√1.25 − 0.5 √0.25) x_t = 0.868034 x_t; β̃ = 0 guides nothing, so x_{t−1} = x̂₀.
    bars = torch.tensor([0.8, 0.5], dtype=torch.float64)
    denoiser = MatrixDenoiser(0.5 * torch.eye(2), torch.zeros(2), None, 2, alphas_cumprod=bars)
    classifier = ToyClassifier(classes=("left", "right"), weight=torch.eye(2))
    method = Method(preset="dbvce", mode="reference", respacing="2", projection="none", guidance="x0")
    sampler = Sampler(method, Networks(Models(denoiser, classifier), Compute()), respaced(bars, "2"), KnownDraws({}))
    noisy = torch.tensor([0.940070, 0.331655]).view(1, 1, 1, 2)
    still = torch.zeros_like(noisy)
    after = step(sampler, Batch(still, (0,), torch.tensor([0])), State(noisy, still, still), 0, 0, 0.1)
    assert after.noisy.flatten().tolist() == pytest.approx([0.816013, 0.287888], abs=2e-6)
