"""3 × 3 convolutions of torch in double precision, and their gradient, by Winograd's minimal filtering.

PyTorch has no fast convolution of float64. `cfeval_testbed.models.convolution` says how it is done.
"""

from typing import Any

import torch
from torch import Tensor, nn

from cfeval_testbed.models.convolution import FILTERS, INPUTS, OUTPUTS, TILE, TILES, WINDOW

_SEEN, _MADE, _FILTERS = (torch.from_numpy(matrix) for matrix in (INPUTS, OUTPUTS, FILTERS))


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
        if images.shape[2] % TILE or images.shape[3] % TILE or images.dtype != torch.float64:
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
    return (_FILTERS @ flat).view(-1, channels, outputs)


def _convolved(images: Tensor, filters: Tensor, bias: Tensor | None) -> Tensor:
    """Convolution, piece by piece of the batch; the result has channels last in memory."""
    count, channels, height, width = images.shape
    size = max(1, TILES * TILE**2 // (height * width))
    padded = images.new_zeros(min(size, count), height + 2, width + 2, channels)  # the border stays zero
    made = images.new_empty(count, height, width, filters.shape[2])
    seen = images.permute(0, 2, 3, 1)
    for start in range(0, count, size):
        piece = padded[: min(size, count - start)]
        piece[:, 1:-1, 1:-1] = seen[start : start + size]
        placed = made[start : start + size].view(-1, height // TILE, TILE, width // TILE, TILE, filters.shape[2])
        tiles = _tiles(piece, filters)
        placed.copy_(tiles) if bias is None else torch.add(tiles, bias, out=placed)
    return made.permute(0, 3, 1, 2)


def _tiles(padded: Tensor, filters: Tensor) -> Tensor:
    """Images (N, H + 2, W + 2, channels) with their border of zeros to tiles (N, H / 4, 4, W / 4, 4, outputs)."""
    count, down, across = padded.shape[0], (padded.shape[1] - 2) // TILE, (padded.shape[2] - 2) // TILE
    _, channels, outputs = filters.shape
    image, row, column, channel = padded.stride()
    windows = padded.as_strided(
        (WINDOW, WINDOW, count, down, across, channels), (row, column, image, TILE * row, TILE * column, channel)
    )
    seen = (_SEEN @ windows.reshape(WINDOW**2, -1)).view(WINDOW**2, -1, channels)
    made = _MADE @ torch.bmm(seen, filters).view(WINDOW**2, -1)
    return made.view(TILE, TILE, count, down, across, outputs).permute(2, 3, 0, 4, 1, 5)
