"""3 × 3 convolutions in double precision by Winograd's minimal filtering: a quarter of the multiplications.

PyTorch has no fast convolution of float64. Here each tile of 4 × 4 outputs comes from 6 × 6 inputs: F(4 × 4, 3 × 3) of
Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks", Section 4. The result differs from the direct
sum by about 1e-14 of the largest value.

variable → symbol: `_OUTPUTS` → Aᵀ, `_INPUTS` → Bᵀ, `_FILTERS` → 24 · G; Y = Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_TILE, _WINDOW = 4, 6
_PIECE = 64
"""Tiles that are worked on at a time, so that what they need stays in the caches."""
_OUTPUTS = ((1, 1, 1, 1, 1, 0), (0, 1, -1, 2, -2, 0), (0, 1, 1, 4, 4, 0), (0, 1, -1, 8, -8, 1))
_INPUTS = (
    (4, 0, -5, 0, 1, 0),
    (0, -4, -4, 1, 1, 0),
    (0, 4, -4, -1, 1, 0),
    (0, -2, -1, 2, 1, 0),
    (0, 2, -1, -2, 1, 0),
    (0, 4, 0, -5, 0, 1),
)
_FILTERS = ((6, 0, 0), (-4, -4, -4), (-4, 4, -4), (1, 2, 4), (1, -2, 4), (0, 0, 24))


def _both_axes(rows: tuple[tuple[int, ...], ...]) -> Tensor:
    """The transform of rows and columns as one matrix on flattened tiles.

    It is numpy's, so that an import computes nothing with torch.
    """
    once = np.array(rows, dtype=np.float64)
    return torch.from_numpy(np.kron(once, once))


class WinogradConvolution(nn.Module):
    """Takes the place of a convolution that does not learn any more; its input may still ask for a gradient."""

    def __init__(self, direct: nn.Conv2d) -> None:
        """`direct` is one that `fits`."""
        super().__init__()
        self.direct = direct
        self.filters = _transformed(direct.weight)
        self._backward: Tensor | None = None

    def forward(self, images: Tensor) -> Tensor:
        """(N, channels, H, W) to (N, outputs, H, W); sizes that are no multiples of 4 are left to PyTorch."""
        if images.shape[2] % _TILE or images.shape[3] % _TILE or images.dtype != torch.float64:
            return self.direct(images)  # type: ignore[no-any-return]
        if not (torch.is_grad_enabled() and images.requires_grad):
            return _convolved(images, self.filters, self.direct.bias)
        found: Tensor = _WithGradient.apply(images, self)
        return found

    def pulled_back(self, gradient: Tensor) -> Tensor:
        """The gradient with respect to the input: the filters turned by 180°, inputs and outputs exchanged."""
        if self._backward is None:
            self._backward = _transformed(self.direct.weight.transpose(0, 1).flip(2, 3))
        return _convolved(gradient, self._backward, None)


class _WithGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor, layer: WinogradConvolution) -> Tensor:
        ctx.layer = layer
        return _convolved(images, layer.filters, layer.direct.bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.layer.pulled_back(gradient), None


def fits(layer: nn.Module) -> bool:
    """Whether a layer is a plain 3 × 3 convolution in double precision that keeps the size of images."""
    return (
        type(layer) is nn.Conv2d
        and layer.weight.dtype == torch.float64
        and (layer.kernel_size, layer.stride, layer.padding) == ((3, 3), (1, 1), (1, 1))
        and (layer.dilation, layer.groups, layer.padding_mode) == ((1, 1), 1, "zeros")
    )


def _transformed(weight: Tensor) -> Tensor:
    """Filters (outputs, channels, 3, 3) as they are multiplied, (36, channels, outputs)."""
    outputs, channels = weight.shape[:2]
    flat = weight.detach().permute(2, 3, 1, 0).reshape(9, -1)
    return (_both_axes(_FILTERS) / 24**2 @ flat).view(-1, channels, outputs)


def _convolved(images: Tensor, filters: Tensor, bias: Tensor | None) -> Tensor:
    """Convolution, piece by piece of the batch; the result has channels last in memory."""
    count, channels, height, width = images.shape
    size = max(1, _PIECE * _TILE**2 // (height * width))
    padded = images.new_zeros(min(size, count), height + 2, width + 2, channels)  # the border stays zero
    made = images.new_empty(count, height, width, filters.shape[2])
    seen = images.permute(0, 2, 3, 1)
    for start in range(0, count, size):
        piece = padded[: min(size, count - start)]
        piece[:, 1:-1, 1:-1] = seen[start : start + size]
        placed = made[start : start + size].view(-1, height // _TILE, _TILE, width // _TILE, _TILE, filters.shape[2])
        tiles = _tiles(piece, filters)
        placed.copy_(tiles) if bias is None else torch.add(tiles, bias, out=placed)
    return made.permute(0, 3, 1, 2)


def _tiles(padded: Tensor, filters: Tensor) -> Tensor:
    """Images (N, H + 2, W + 2, channels) with their border of zeros to tiles (N, H / 4, 4, W / 4, 4, outputs)."""
    count, down, across = padded.shape[0], (padded.shape[1] - 2) // _TILE, (padded.shape[2] - 2) // _TILE
    _, channels, outputs = filters.shape
    image, row, column, channel = padded.stride()
    windows = padded.as_strided(
        (_WINDOW, _WINDOW, count, down, across, channels), (row, column, image, _TILE * row, _TILE * column, channel)
    )
    seen = (_SEEN @ windows.reshape(_WINDOW**2, -1)).view(_WINDOW**2, -1, channels)
    made = _MADE @ torch.bmm(seen, filters).view(_WINDOW**2, -1)
    return made.view(_TILE, _TILE, count, down, across, outputs).permute(2, 3, 0, 4, 1, 5)


_SEEN, _MADE = _both_axes(_INPUTS), _both_axes(_OUTPUTS)
