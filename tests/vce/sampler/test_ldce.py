"""LDCE over whole trajectories, against a transcription of its code in numpy with the Jacobians written out."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from cfeval.core.errors import ParamsError
from cfeval.vce.estimate import passes_of
from cfeval.vce.method import Method
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.networks import Models
from cfeval.vce.sampler.sampler import counterfactuals
from tests.vce.sampler.latents import (
    DECODER,
    KEPT,
    LABEL_NOISE,
    ORIGINAL,
    START,
    TARGETS,
    Array,
    D,
    Latents,
    M,
    N,
    W,
    images,
)
from tests.vce.sampler.toys import KnownDraws, ToyClassifier, ToyDenoiser, red_images


def sized(gradient: Array, like: Array) -> Array:
    return gradient / max(float(np.linalg.norm(gradient)), 1e-22) * np.linalg.norm(like)


def agreeing(classifier: Array, implicit: Array, degrees: float) -> Array:
    """The classifier's score without the pixels whose colour vectors lie further apart."""
    first, second = (score.reshape(3, -1) for score in (classifier, implicit))
    cosine = (first * second).sum(0) / np.linalg.norm(first, axis=0) / np.linalg.norm(second, axis=0)
    return (first * (np.degrees(np.arccos(cosine)) <= degrees)).ravel()


def transcribed(steps: int, settings: dict[str, Any]) -> Array:
    """One image after the other, as the code has it: λ_c 2 and λ_d 0.25, times its scale of 3."""
    bars = np.cumprod(1 - np.linspace(1e-4, 0.02, 1000))
    times = np.arange(0, 1000, 1000 // KEPT) + 1
    results = []
    for n, target in enumerate(TARGETS):
        latent = np.linalg.solve(DECODER, ORIGINAL[n])
        bar = bars[times[steps]]
        x = math.sqrt(bar) * latent + math.sqrt(1 - bar) * START[n]
        for i in reversed(range(steps)):
            bar, before = bars[times[i]], bars[times[i - 1]] if i else bars[0]
            empty, told = (math.sqrt(1 - bar) * M @ x + LABEL_NOISE[label] for label in (3, target))
            image = DECODER @ ((x - math.sqrt(1 - bar) * empty) / math.sqrt(bar))
            jacobian = DECODER @ (np.eye(D) - (1 - bar) * M) / math.sqrt(bar)
            scores = np.exp(W @ image - (W @ image).max())
            of_class = jacobian.T @ (W[target] - scores / scores.sum() @ W)
            implicit = told - empty
            score = -of_class * math.sqrt(1 - bar)
            if settings.get("projection") != "none":
                score = agreeing(score, implicit, settings.get("angle", 40))
            noise = empty + 3 * 2 * sized(score, implicit)
            if settings.get("distance") != "none":
                sign = np.sign(np.clip(image, -1, 1) - ORIGINAL[n]) * (np.abs(image) <= 1)
                noise = noise + 3 * 0.25 * sized(jacobian.T @ sign, implicit)
            x = math.sqrt(before) * (x - math.sqrt(1 - bar) * noise) / math.sqrt(bar) + math.sqrt(1 - before) * noise
        results.append(DECODER @ x)
    return np.array(results)


@pytest.mark.parametrize("start", [0.342, 0.8])
@pytest.mark.parametrize("settings", [{}, {"angle": 60.0}, {"projection": "none"}, {"distance": "none", "angle": 80.0}])
def test_ldce_is_its_code(settings: dict[str, Any], start: float) -> None:
    method = Method(preset="ldce", respacing=f"ddim{KEPT}", start=start, **settings)
    models = Models(Latents(), ToyClassifier(weight=torch.tensor(W)))
    noise = KnownDraws({("start",): images(START)})
    classes = Classes(TARGETS, [0] * N)
    found = counterfactuals(images(ORIGINAL), [0] * N, method, models, classes, draws=noise).images.flatten(1).numpy()
    assert np.allclose(found, transcribed(method.steps, settings), atol=1e-8)


def test_its_steps_are_those_of_the_paper_and_each_asks_twice() -> None:
    assert (Method(preset="ldce").steps, Method(preset="ldce").kept_steps) == (171, 500)
    method, denoiser = Method(preset="ldce", respacing=f"ddim{KEPT}"), Latents()
    classifier = ToyClassifier(weight=torch.tensor(W))
    counterfactuals(images(ORIGINAL), [0] * N, method, Models(denoiser, classifier), Classes(TARGETS, [0] * N))
    costs = passes_of(method)
    assert (denoiser.calls, denoiser.graphs, len(classifier.seen)) == (2 * method.steps, method.steps, method.steps)
    assert (costs["denoiser_calls"], costs["denoiser_gradients"]) == (2 * method.steps, 2 * method.steps)


def test_a_denoiser_without_an_empty_prompt_is_refused_in_one_line() -> None:
    models = Models(ToyDenoiser(classes=3), ToyClassifier())
    with pytest.raises(ParamsError, match="knows an empty prompt"):
        counterfactuals(red_images(1), [0], Method(preset="ldce"), models, Classes([1], [0]))


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"preset": "ldce", "norm": "mean"}, "go together"),
        ({"preset": "dbvce", "norm": "implicit"}, "go together"),
        ({"preset": "ldce", "stochastic": True}, "goes with projection 'consensus' or 'none'"),
        ({"preset": "ldce", "distance": "x0"}, "goes with projection 'consensus' or 'none'"),
    ],
)
def test_what_does_not_go_with_it_is_said(changed: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Method(**changed)
