"""Small networks whose every number is known: a denoiser of Gaussian images, a linear one, a classifier of colours."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from cfeval.vce.interfaces import Prediction
from cfeval.vce.sampler.schedule import linear

CPU = torch.device("cpu")
SPREAD = 0.3


@dataclass
class ToyDenoiser:
    """The best denoiser of images whose pixels are N(0, SPREAD²), bent a little by each pixel's neighbour and label.

    It notes each call: how many images, the timestep, whether a gradient could flow; more than `limit` images are too
    many for its memory from call `limited` on.
    """

    image_size: int = 4
    classes: int = 0
    bend: float = 0.05
    learned: bool = False
    limit: int = 10**9
    limited: int = 0
    device: torch.device = CPU
    dtype: torch.dtype = torch.float32
    alphas_cumprod: Tensor = field(default_factory=lambda: linear(1000))
    calls: list[tuple[int, int, bool]] = field(default_factory=list)

    def predict(self, noisy: Tensor, timesteps: Tensor, labels: Tensor | None = None) -> Prediction:
        self.calls.append((len(noisy), int(timesteps[0]), torch.is_grad_enabled() and noisy.requires_grad))
        if len(noisy) > self.limit and len(self.calls) > self.limited:
            raise torch.OutOfMemoryError("CUDA out of memory (a toy)")
        share = self.alphas_cumprod[timesteps].float().view(-1, 1, 1, 1)
        noise = (1 - share).sqrt() * noisy / (share * SPREAD**2 + 1 - share)
        noise = noise + self.bend * noisy.roll(1, -1).tanh()
        if labels is not None:
            noise = noise - 0.2 * torch.eye(3)[labels % 3].view(-1, 3, 1, 1)
        return Prediction(noise, 0.1 * noisy.tanh() if self.learned else None)


@dataclass
class MatrixDenoiser:
    """Predicts the noise M·x_t + offset and the variance v = V·x_t of flattened images."""

    matrix: Tensor
    offset: Tensor
    variance: Tensor | None
    image_size: int
    classes: int = 0
    device: torch.device = CPU
    dtype: torch.dtype = torch.float32
    alphas_cumprod: Tensor = field(default_factory=lambda: linear(1000))

    def predict(self, noisy: Tensor, timesteps: Tensor, labels: Tensor | None = None) -> Prediction:
        flat = noisy.flatten(1)
        noise = (flat @ self.matrix.T + self.offset).view_as(noisy)
        return Prediction(noise, None if self.variance is None else (flat @ self.variance.T).view_as(noisy))


@dataclass
class ToyClassifier:
    """Class c likes channel c: logits are `gain` times the mean colour, bent by each pixel's neighbour.

    With `weight` (classes, C · H · W), the logits are those of the flattened image instead.
    """

    classes: tuple[str, ...] = ("red", "green", "blue")
    robust: bool = False
    timed: bool = False
    gain: float = 10.0
    bend: float = 0.0
    weight: Tensor | None = None
    device: torch.device = CPU
    dtype: torch.dtype = torch.float32
    seen: list[tuple[int, bool, int | None]] = field(default_factory=list)

    def logits(self, images: Tensor, timesteps: Tensor | None = None, prepared: bool = True) -> Tensor:
        self.seen.append((len(images), prepared, None if timesteps is None else int(timesteps[0])))
        if self.weight is not None:
            return images.flatten(1) @ self.weight.T
        bent = images + self.bend * images.roll(1, -2) ** 2
        return self.gain * bent.mean((2, 3))


class ToyPerceptual:
    """The mean squared difference of each pair."""

    def distance(self, first: Tensor, second: Tensor) -> Tensor:
        return (first - second).pow(2).flatten(1).mean(1)


def red_images(count: int = 4, side: int = 4, seed: int = 0) -> Tensor:
    """Images of class red."""
    drawn = torch.rand(count, 3, side, side, generator=torch.Generator().manual_seed(seed)) * 0.4 - 0.2
    drawn[:, 0] += 0.3
    return drawn


@dataclass(frozen=True)
class KnownDraws:
    """Noise (N, C, H, W) by purpose, whatever the seeds."""

    numbers: dict[tuple[str | int, ...], Tensor]

    def __call__(self, seeds: Sequence[int], shape: Sequence[int], *purpose: str | int) -> Tensor:
        drawn = self.numbers[purpose]
        assert drawn.shape == (len(seeds), *shape)
        return drawn
