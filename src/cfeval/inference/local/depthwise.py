"""Convolutions of each channel by itself in double precision, as sums of shifted images.

PyTorch computes them channel by channel, in one of its memory layouts ten times as slowly as here. The result differs
by the order of the sum, 1e-15 of the largest value.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class DepthwiseConvolution(nn.Module):
    """Takes the place of a convolution that does not learn any more; its input may still ask for a gradient."""

    def __init__(self, direct: nn.Conv2d) -> None:
        """`direct` is one that `fits_depthwise`."""
        super().__init__()
        self.direct = direct

    def forward(self, images: Tensor) -> Tensor:
        """(N, channels, H, W) to the same shape."""
        filtered_images: Tensor = _Same.apply(images, self.direct.weight)
        return filtered_images if self.direct.bias is None else filtered_images + self.direct.bias.view(1, -1, 1, 1)


class _Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor, weight: Tensor) -> Tensor:
        ctx.weight = weight
        return _same(images, weight)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _same(gradient, ctx.weight.flip(2, 3)), None


def fits_depthwise(layer: nn.Module) -> bool:
    """Whether a layer filters every channel by itself, in double precision, and keeps the size of images."""
    return (
        type(layer) is nn.Conv2d
        and layer.weight.dtype == torch.float64
        and layer.groups == layer.in_channels == layer.out_channels > 1
        and tuple(2 * side + 1 for side in layer.padding if isinstance(side, int)) == layer.kernel_size
        and (layer.stride, layer.dilation, layer.padding_mode) == ((1, 1), (1, 1), "zeros")
    )


def _same(images: Tensor, weight: Tensor) -> Tensor:
    down, across = weight.shape[2] // 2, weight.shape[3] // 2
    return filtered(functional.pad(images, (across, across, down, down)), weight)


def filtered(images: Tensor, weight: Tensor, stride: int = 1) -> Tensor:
    """Each channel of images (N, channels, H, W) filtered by its own (channels, 1, h, w), without a border."""
    rows, columns = (side - kernel + 1 for side, kernel in zip(images.shape[2:], weight.shape[2:], strict=True))
    made: Tensor | None = None
    for row in range(weight.shape[2]):
        for column in range(weight.shape[3]):
            shifted = images[:, :, row : row + rows : stride, column : column + columns : stride]
            factor = weight[:, 0, row, column].view(1, -1, 1, 1)
            made = shifted * factor if made is None else made.addcmul_(shifted, factor)
    assert made is not None, "a filter has at least one number"
    return made
