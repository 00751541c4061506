"""A denoiser and an autoencoder by matrices: of latents, which are no images, so that nothing may be confused."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from cfeval.vce.interfaces import Prediction
from cfeval.vce.sampler.schedule import linear
from tests.vce.sampler.toys import CPU

SIDE, N, KEPT = 5, 2, 10
D = 3 * SIDE * SIDE
Array = np.ndarray[Any, np.dtype[np.float64]]


def drawn(seed: int, *shape: int, scale: float = 1.0) -> Array:
    """Normal numbers."""
    return np.random.default_rng(seed).normal(size=shape) * scale


ORIGINAL, START = np.clip(drawn(0, N, D, scale=0.4), -1, 1), drawn(1, N, D)
# The predicted noise of label c is √(1−ᾱ)·M·x + LABEL_NOISE[c]; the last label is the empty prompt.
M, LABEL_NOISE = 0.95 * np.eye(D) + drawn(2, D, D, scale=0.02), drawn(3, 4, D, scale=0.05)
DECODER = 1.2 * np.eye(D) + drawn(4, D, D, scale=0.05)
W, TARGETS = drawn(5, 3, D, scale=0.1), [1, 2]


@dataclass
class Latents:
    """A denoiser of latents by matrices; it counts its calls, and those through which a gradient flows."""

    calls: int = 0
    graphs: int = 0
    no_class: int = 3
    classes: int = 3
    image_size: int = SIDE
    device: torch.device = CPU
    dtype: torch.dtype = torch.float64

    def __post_init__(self) -> None:
        self.alphas_cumprod = linear(1000)

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, labels: torch.Tensor | None = None) -> Prediction:
        assert labels is not None
        self.calls += 1
        self.graphs += noisy.requires_grad
        size = (1 - self.alphas_cumprod[timesteps]).sqrt().view(-1, 1)
        noise = size * (noisy.flatten(1) @ torch.tensor(M).T) + torch.tensor(LABEL_NOISE)[labels]
        return Prediction(noise.view_as(noisy))

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        return (images.flatten(1) @ torch.tensor(np.linalg.inv(DECODER)).T).view_as(images)

    def decode(self, latents: torch.Tensor) -> torch.Tensor:
        return (latents.flatten(1) @ torch.tensor(DECODER).T).view_as(latents)


def images(values: Array) -> torch.Tensor:
    """Flattened images as the sampler takes them."""
    return torch.tensor(values).view(-1, 3, SIDE, SIDE)
