"""Small networks whose every number is known: a linear denoiser, a linear classifier."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from cfeval.backends.denoisers.base import Prediction
from cfeval.diffusion.schedule import linear

CPU = torch.device("cpu")


@dataclass
class ToyDenoiser:
    """Predicts the noise `rate · x_t`, mixed with neighbours by `mixing`, plus a pull by the label.

    It notes each call: how many images, the timestep, whether a gradient could flow.
    """

    image_size: int = 2
    classes: int = 0
    rate: float = 0.7
    mixing: float = 0.1
    learned: bool = False
    limit: int = 10**9
    device: torch.device = CPU
    alphas_cumprod: Tensor = field(default_factory=lambda: linear(1000))
    calls: list[tuple[int, int, bool]] = field(default_factory=list)

    def predict(self, noisy: Tensor, timesteps: Tensor, labels: Tensor | None = None) -> Prediction:
        if len(noisy) > self.limit:
            raise torch.OutOfMemoryError("CUDA out of memory (a toy)")
        self.calls.append((len(noisy), int(timesteps[0]), torch.is_grad_enabled() and noisy.requires_grad))
        noise = self.rate * noisy + self.mixing * noisy.roll(1, -1).tanh()
        if labels is not None:
            noise = noise - 0.2 * torch.eye(3)[labels % 3].view(-1, 3, 1, 1)
        return Prediction(noise, 0.1 * noisy.tanh() if self.learned else None)


@dataclass
class ToyClassifier:
    """Logits linear in the mean colour of the image, after a bend if `bend` is given: class c likes channel c."""

    classes: tuple[str, ...] = ("red", "green", "blue")
    robust: bool = False
    timed: bool = False
    gain: float = 5.0
    bend: float = 0.0
    weight: Tensor | None = None
    device: torch.device = CPU
    seen: list[tuple[bool, int | None]] = field(default_factory=list)

    def logits(self, images: Tensor, timesteps: Tensor | None = None, prepared: bool = True) -> Tensor:
        self.seen.append((prepared, None if timesteps is None else int(timesteps[0])))
        bent = images + self.bend * images.roll(1, -2) ** 2
        if self.weight is not None:
            return bent.flatten(1) @ self.weight.T
        return self.gain * bent.mean((2, 3))


def images(count: int = 4, side: int = 2, seed: int = 0) -> Tensor:
    """Images of class red."""
    drawn = torch.rand(count, 3, side, side, generator=torch.Generator().manual_seed(seed)) * 0.4 - 0.2
    drawn[:, 0] += 0.5
    return drawn
