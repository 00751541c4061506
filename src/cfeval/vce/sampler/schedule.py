"""The noise schedule: linear betas, respacing, and what one step back needs (Ho et al. 2020; Nichol & Dhariwal 2021).

Tables are float64 and on the CPU; images stay of their own dtype. Noise follows from an image's own seed and what it is
for, so neither batch nor order changes it.

Variables and symbols: betas β, alphas_cumprod ᾱ, previous ᾱ_{t−1}, posterior_variance β̃, kept the training steps that
the respacing keeps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from cfeval.core.errors import ParamsError
from cfeval.core.sampling import derive_seed


@dataclass(frozen=True)
class Schedule:
    """A respaced schedule of n steps: tables (n,), float64; `timesteps` (n,), the training step of each."""

    timesteps: Tensor
    alphas_cumprod: Tensor
    betas: Tensor
    posterior_variance: Tensor

    @property
    def log_posterior_variance(self) -> Tensor:
        """log β̃, whose first entry, log 0, is replaced by the second (one step alone: by log β)."""
        table = self.posterior_variance
        first = table[1:2] if len(table) > 1 else self.betas[:1]
        return torch.log(torch.cat([first, table[1:]]))

    def noised(self, images: Tensor, index: int, noise: Tensor) -> Tensor:
        """q(x_t | x_0): the images at step `index`, with the noise given."""
        share = self.alphas_cumprod[index]
        return float(share.sqrt()) * images + float((1 - share).sqrt()) * noise

    def clean(self, noisy: Tensor, noise: Tensor, index: int) -> Tensor:
        """x̂₀, from the noise predicted in x_t."""
        inverse = 1 / self.alphas_cumprod[index]
        return float(inverse.sqrt()) * noisy - float((inverse - 1).sqrt()) * noise

    def posterior_mean(self, x0: Tensor, noisy: Tensor, index: int) -> Tensor:
        """The mean of q(x_{t−1} | x_t, x_0) (Ho et al., Eq. 7)."""
        now, beta = self.alphas_cumprod[index], self.betas[index]
        before = self.alphas_cumprod[index - 1] if index else torch.ones((), dtype=torch.float64)
        of_x0 = beta * before.sqrt() / (1 - now)
        of_noisy = (1 - before) * (1 - beta).sqrt() / (1 - now)
        return float(of_x0) * x0 + float(of_noisy) * noisy

    def log_variance(self, index: int, learned: Tensor | None) -> Tensor:
        """log Σ_θ: β̃, or with a learned v the interpolation from β̃ (−1) to β (1) (Nichol & Dhariwal, Eq. 15)."""
        low = self.log_posterior_variance[index]
        if learned is None:
            return low
        share = (learned + 1) / 2
        return share * float(self.betas[index].log()) + (1 - share) * float(low)

    def variance(self, index: int, learned: Tensor | None) -> Tensor:
        """Σ_θ; where it is not learned, that of the last step is 0."""
        return self.posterior_variance[index] if learned is None else self.log_variance(index, learned).exp()

    def one_above(self, alphas_cumprod: Tensor) -> tuple[Tensor, Tensor]:
        """The same one training step later, as Stable Diffusion's samplers count: timesteps (n,), and ᾱ (n + 1,).

        Step i starts at the ᾱ of place i + 1 and leads to that of place i, the last one to the first training step's.
        """
        timesteps = (self.timesteps + 1).clamp(max=len(alphas_cumprod) - 1)
        return timesteps, torch.cat([alphas_cumprod[:1], alphas_cumprod[timesteps]])


def clean(noisy: Tensor, noise: Tensor, share: Tensor) -> Tensor:
    """x̂₀ from the noise in an image whose ᾱ is `share`."""
    return (noisy - float((1 - share).sqrt()) * noise) / float(share.sqrt())


def ddim(noisy: Tensor, noise: Tensor, share: Tensor, wanted: Tensor) -> Tensor:
    """An image taken from one ᾱ to another with the noise that is in it (DDIM, Song et al. 2021, Eq. 13)."""
    return float(wanted.sqrt()) * clean(noisy, noise, share) + float((1 - wanted).sqrt()) * noise


def linear(steps: int) -> Tensor:
    """ᾱ (steps,), float64, of betas that rise evenly; 1000 steps go from 0.0001 to 0.02, others are scaled to match."""
    scale = 1000 / steps
    betas = torch.linspace(scale * 1e-4, scale * 0.02, steps, dtype=torch.float64)
    return torch.cumprod(1 - betas, dim=0)


def respaced(alphas_cumprod: Tensor, respacing: str) -> Schedule:
    """The schedule of the kept steps only: same ᾱ there, betas to match.

    Args:
        alphas_cumprod: ᾱ of the T training steps, (T,).
        respacing: `n` (evenly spread), `a,b,c` (as many of each equal section), `ddimN` (an integer stride from 0).

    Raises:
        ParamsError: the training steps cannot be cut that way.
    """
    steps = kept(len(alphas_cumprod), respacing)
    cumulative = alphas_cumprod.to("cpu", torch.float64)[steps]
    previous = torch.cat([torch.ones(1, dtype=torch.float64), cumulative[:-1]])
    betas = 1 - cumulative / previous
    return Schedule(torch.tensor(steps), cumulative, betas, betas * (1 - previous) / (1 - cumulative))


def kept(training_steps: int, respacing: str) -> list[int]:
    """The training steps that a respacing keeps, ascending; ParamsError where there are too few of them."""
    if respacing.startswith("ddim"):
        return _strided(training_steps, int(respacing.removeprefix("ddim")))
    counts = [int(part) for part in respacing.split(",")]
    size, extra = divmod(training_steps, len(counts))
    chosen: list[int] = []
    start = 0
    for number, count in enumerate(counts):
        length = size + (number < extra)
        if count > length:
            raise ParamsError(
                f"respacing '{respacing}' keeps {count} of {length} training steps; ask for {length} at most"
            )
        chosen += [start + step for step in spread(length, count)]
        start += length
    return chosen


def spread(length: int, count: int) -> list[int]:
    """`count` steps from the first to the last of `length`; the stride is summed up as the reference code does."""
    stride = (length - 1) / (count - 1) if count > 1 else 1
    at, steps = 0.0, []
    for _ in range(count):
        steps.append(round(at))
        at += stride
    return steps


def _strided(training_steps: int, count: int) -> list[int]:
    for stride in range(1, training_steps):
        if len(steps := list(range(0, training_steps, stride))) == count:
            return steps
    raise ParamsError(f"respacing 'ddim{count}': no integer stride keeps {count} of {training_steps} training steps")


class Draws(Protocol):
    """Where noise comes from; tests put known numbers in its place."""

    def __call__(self, seeds: Sequence[int], shape: Sequence[int], *purpose: str | int) -> Tensor:
        """Standard normal noise (N, *shape), float64, on the CPU, one image per seed.

        The purposes: `start`; `step` and `keep` with attempt and index; `nested` with attempt, index and the index of
        the inner loop; `attack` with attempt, iteration and the index of the step, if it has one.
        """
        ...


def seeded(seeds: Sequence[int], shape: Sequence[int], *purpose: str | int) -> Tensor:
    """Noise from a generator of its own for each seed and purpose; in double precision it is the same on every CPU."""
    drawn = [torch.randn(*shape, generator=generator(seed, *purpose), dtype=torch.float64) for seed in seeds]
    return torch.stack(drawn)


def generator(seed: int, *purpose: str | int) -> torch.Generator:
    """A generator on the CPU, so that every device gets the same numbers."""
    return torch.Generator().manual_seed(derive_seed(seed, *purpose))
