"""A linear classifier on the features of a pretrained network, fitted to labelled images (Alain & Bengio 2017).

Ridge regression to one-hot targets has its leave-one-out predictions in closed form: (ŷ − h y) / (1 − h) with h the
leverage (Allen 1974). So the regularization is chosen, and the share of images that are read rightly when left out is
known, without a second fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch.nn import Module

    from cfeval.vce.models.efficientnet_lite import EfficientNetLite

Floats = npt.NDArray[np.float64]
STRENGTHS = tuple(10.0**power for power in range(-4, 4))
"""Regularizations that are tried, as shares of the mean squared length of the features."""
SCALE = 10.0
"""What scores, about in [0, 1], are multiplied by to serve as logits; it changes no answer."""


@dataclass(frozen=True)
class Probe:
    """The fit: logits are features · `weight`ᵀ + `bias`; shapes (classes, width) and (classes,).

    `right` says of each image whether it was read rightly by the fit to all others, (N,).
    """

    weight: Floats
    bias: Floats
    right: npt.NDArray[np.bool_]


def with_last_layer(trunk: "EfficientNetLite", weight: Floats, bias: Floats) -> "Module":
    """A network with a linear layer, weight (classes, width), in the place of its last one."""
    import torch

    last = torch.nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        last.weight.copy_(torch.from_numpy(weight))
        last.bias.copy_(torch.from_numpy(bias))
    trunk._fc = last
    return trunk


def fit_probe(features: Floats, labels: Sequence[int], classes: int) -> Probe:
    """Fit to features (N, width) and the numbers of their classes, N."""
    numbers = np.asarray(labels)
    targets = np.eye(classes)[numbers]
    # Classes count the same, however many images each has.
    weights = np.sqrt(len(numbers) / (classes * np.bincount(numbers, minlength=classes)[numbers]))[:, None]
    mean = (weights**2 * features).sum(0) / (weights**2).sum()
    centred = weights * (features - mean)
    gram = centred @ centred.T
    values, vectors = np.linalg.eigh(gram + weights @ weights.T * np.trace(gram) / len(numbers))
    values = np.maximum(values, 0)
    unit = np.trace(gram) / len(numbers) or 1.0
    best: tuple[float, Floats, Floats] | None = None
    for strength in STRENGTHS:
        shrunk = (vectors * (values / (values + strength * unit))) @ vectors.T
        leverage = np.diag(shrunk)[:, None]
        scaled = weights * targets
        left_out = (shrunk @ scaled - leverage * scaled) / np.maximum(1 - leverage, 1e-12) / weights
        loss = float((weights**2 * (left_out - targets) ** 2).sum())
        if best is None or loss < best[0]:
            dual = (vectors / (values + strength * unit)) @ vectors.T @ scaled
            best = loss, dual, left_out
    assert best is not None, "there are strengths"
    _, dual, left_out = best
    weight = (centred.T @ dual).T
    bias = (weights.T @ dual)[0] * np.trace(gram) / len(numbers) - weight @ mean
    return Probe(SCALE * weight, SCALE * bias, left_out.argmax(1) == numbers)
