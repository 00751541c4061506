"""A batch of images with what is wanted of each, and where its denoising stands."""

from dataclasses import dataclass, fields, replace
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class _Rows:
    """Values with one row per image: tensors, tuples, or None."""

    def rows(self, chosen: slice | Tensor) -> Self:
        """The same of some of the images."""
        return replace(self, **{f.name: _chosen(getattr(self, f.name), chosen) for f in fields(self)})


@dataclass(frozen=True)
class Batch(_Rows):
    """What does not change: originals (N, 3, H, W) on the denoiser's device, classes (N,), a seed each.

    `labels` are the target in the denoiser's own classes and `other_labels` the source, None where it has no classes.
    """

    original: Tensor
    seeds: tuple[int, ...]
    targets: Tensor | None = None
    robust_targets: Tensor | None = None
    labels: Tensor | None = None
    other_labels: Tensor | None = None

    @property
    def size(self) -> int:
        """How many images."""
        return len(self.original)


@dataclass(frozen=True)
class State(_Rows):
    """What a step changes: x_t, the last x̂₀, the clean estimate, MaskDiME's inner mask (N, 1, H, W)."""

    noisy: Tensor
    x0: Tensor
    clean: Tensor
    inner: Tensor | None = None


def _chosen(value: Tensor | tuple[int, ...] | None, chosen: slice | Tensor) -> Tensor | tuple[int, ...] | None:
    if value is None:
        return None
    if isinstance(value, Tensor):
        return value[chosen if isinstance(chosen, slice) else chosen.to(value.device)]
    return value[chosen] if isinstance(chosen, slice) else tuple(value[int(row)] for row in torch.as_tensor(chosen))
