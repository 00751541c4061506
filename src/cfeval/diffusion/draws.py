"""Noise: every draw follows from an image's own seed and what it is for, so neither batch nor order changes it."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from cfeval.seeds import derive


class Draws(Protocol):
    """Where noise comes from; tests put known numbers in its place."""

    def __call__(self, seeds: Sequence[int], shape: Sequence[int], *purpose: str | int) -> Tensor:
        """Standard normal noise (N, *shape), float32, on the CPU, one image per seed.

        The purposes: `start`; `step` and `keep` with attempt and index; `nested` with attempt, index and the index of
        the inner loop.
        """
        ...


def seeded(seeds: Sequence[int], shape: Sequence[int], *purpose: str | int) -> Tensor:
    """Noise from a generator of its own for each seed and purpose."""
    return torch.stack([torch.randn(*shape, generator=generator(seed, *purpose)) for seed in seeds])


def generator(seed: int, *purpose: str | int) -> torch.Generator:
    """A generator on the CPU, so that every device gets the same numbers."""
    return torch.Generator().manual_seed(derive(seed, *purpose))
