"""Group normalisation of images whose channels lie side by side in memory (`torch.channels_last`), on a processor.

Convolutions in bfloat16 want that layout, and torch's own group normalisation is slow in it: its pass back takes more
than half of a UNet's time, and its way forward three times as long as it need where images are small. Here each pass
over the image is one plain operation. Weights are frozen and float32: no gradient is theirs.
"""

from typing import Any

import torch
from torch import Tensor, nn

LARGE = 1024
"""Places (height × width) from which on torch's own way forward is quick, and is taken."""


class ChannelsLastNorm(nn.GroupNorm):
    """GroupNorm, by its own way for images in channels-last order and by torch's for all else."""

    def forward(self, images: Tensor) -> Tensor:
        """Normalise (N, C, H, W) or (N, C, L)."""
        if images.ndim != 4 or not images.is_contiguous(memory_format=torch.channels_last):
            return super().forward(images)
        made: Tensor = _Norm.apply(images, self.weight, self.bias, self.num_groups, self.eps)
        return made


def quicken(network: Any) -> Any:
    """Give a frozen network this group normalisation, its convolutions the layout that goes with it, plain attention.

    Plain attention, for torch's fused one takes twice as long back in bfloat16 at the few places of these UNets.
    """
    from diffusers.models.attention_processor import Attention, AttnProcessor

    for module in network.modules():
        if type(module) is nn.GroupNorm:
            module.__class__ = ChannelsLastNorm
            nn.Module.float(module)
        elif isinstance(module, Attention):
            module.set_processor(AttnProcessor())
    return nn.Module.to(network, memory_format=torch.channels_last)


class _Norm(torch.autograd.Function):
    """y = a·x + b for each image and channel, where a and b follow from mean and variance of the channel's group."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, groups: int, eps: float) -> Tensor:
        count, channels, places = x.shape[0], x.shape[1], x.shape[2] * x.shape[3]
        if places >= LARGE:
            made, mean, inverse = torch.native_group_norm(x, weight, bias, count, channels, places, groups, eps)
            ctx.save_for_backward(x, mean, inverse, weight)
            return made
        size = channels // groups * places
        mean = _grouped(_total(x), groups) / size
        variance = (_grouped(_total(x * x), groups) / size - mean.square()).clamp(min=0)
        inverse = (variance + eps).rsqrt()
        scale = _spread(inverse, x) * weight
        shift = bias - _spread(mean, x) * scale
        ctx.save_for_backward(x, mean, inverse, weight)
        return torch.addcmul(_plane(shift, x), x, _plane(scale, x))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, mean, inverse, weight = ctx.saved_tensors
        gradient = gradients[0].contiguous(memory_format=torch.channels_last)
        groups = mean.shape[1]
        size = x.shape[1] // groups * x.shape[2] * x.shape[3]
        of_mean = _grouped(_total(gradient) * weight, groups) / size
        of_product = _grouped(_total(gradient * x) * weight, groups) / size
        slope = -inverse.pow(3) * (of_product - mean * of_mean)
        level = -inverse * of_mean - mean * slope
        scale = _spread(inverse, x) * weight
        back = torch.addcmul(_plane(_spread(level, x), x), x, _plane(_spread(slope, x), x))
        return back.addcmul_(gradient, _plane(scale, x)), None, None, None, None


def _total(x: Tensor) -> Tensor:
    """The sum over each channel, (N, C) in float32; columns first in the type of x, each rounded once."""
    count, channels, height, width = x.shape
    rows = x.permute(0, 2, 3, 1).reshape(count, height, width * channels)  # as it lies in memory: sums are quick
    return rows.sum(1).view(count, width, channels).float().sum(1)


def _grouped(values: Tensor, groups: int) -> Tensor:
    """Sums over the channels of a group, (N, groups)."""
    return values.view(len(values), groups, -1).sum(2)


def _spread(values: Tensor, x: Tensor) -> Tensor:
    """A group's value at each of its channels, (N, C)."""
    return values.repeat_interleave(x.shape[1] // values.shape[1], dim=1)


def _plane(values: Tensor, x: Tensor) -> Tensor:
    return values.to(x.dtype)[:, :, None, None]
