"""The convolutional trunks that perceptual distances compare images in.

A trunk is a list of layers and the places of those whose outputs are compared. The places of the layers are those of
torchvision's networks (LPIPS) and of the published ST-LPIPS, so that their weights fit.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

VGG16 = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))
"""Widths of the convolutions between the poolings (Simonyan and Zisserman 2015, configuration D)."""


@dataclass(frozen=True)
class Trunk:
    """Layers, the places of those that are compared, and the smallest image, in pixels a side, that they can take."""

    layers: nn.Sequential
    taps: tuple[int, ...]
    widths: tuple[int, ...]
    smallest: int


class Blur(nn.Module):
    """Halves an image after a 3 × 3 binomial filter, mirrored by two pixels at the edges (Zhang 2019; ST-LPIPS)."""

    filt: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        row = torch.tensor([1.0, 2.0, 1.0]) / 4
        self.register_buffer("filt", torch.outer(row, row).repeat(channels, 1, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        """(N, C, H, W) → (N, C, about H / 2, about W / 2)."""
        return conv2d(pad(images, (2, 2, 2, 2), mode="reflect"), self.filt, stride=2, groups=images.shape[1])


def _relu() -> nn.ReLU:
    """In place: nothing else reads what goes in, and at full size memory costs more than the arithmetic."""
    return nn.ReLU(inplace=True)


def alexnet() -> Trunk:
    """AlexNet as torchvision has it (Krizhevsky 2014)."""
    layers = [nn.Conv2d(3, 64, 11, stride=4, padding=2), _relu(), nn.MaxPool2d(3, 2)]
    layers += [nn.Conv2d(64, 192, 5, padding=2), _relu(), nn.MaxPool2d(3, 2), *_upper_alexnet()]
    return Trunk(nn.Sequential(*layers), (1, 4, 7, 9, 11), (64, 192, 384, 256, 256), 31)


def shift_tolerant_alexnet() -> Trunk:
    """AlexNet whose strides are blurred (Ghildyal and Liu 2022, ST-LPIPS, Section 4)."""
    layers = [nn.Conv2d(3, 64, 11, padding=2), Blur(64), _relu(), nn.MaxPool2d(3, 1), Blur(64)]
    layers += [nn.Conv2d(64, 192, 5, padding=2), _relu(), nn.MaxPool2d(3, 1), Blur(192), *_upper_alexnet()]
    return Trunk(nn.Sequential(*layers), (2, 6, 10, 12, 14), (64, 192, 384, 256, 256), 21)


def vgg16() -> Trunk:
    """VGG-16 as torchvision has it."""
    return _vgg16(lambda _: [nn.MaxPool2d(2, 2)], 16)


def shift_tolerant_vgg16() -> Trunk:
    """VGG-16 whose poolings are blurred (ST-LPIPS)."""
    return _vgg16(lambda channels: [nn.MaxPool2d(2, 1), Blur(channels)], 18)


def _upper_alexnet() -> list[nn.Module]:
    widths = ((192, 384), (384, 256), (256, 256))
    return [layer for one, other in widths for layer in (nn.Conv2d(one, other, 3, padding=1), _relu())]


def _vgg16(pooling: Callable[[int], Iterable[nn.Module]], smallest: int) -> Trunk:
    layers: list[nn.Module] = []
    taps = []
    channels = 3
    for stage in VGG16:
        layers += pooling(channels) if layers else []
        for width in stage:
            layers += [nn.Conv2d(channels, width, 3, padding=1), _relu()]
            channels = width
        taps.append(len(layers) - 1)
    return Trunk(nn.Sequential(*layers), tuple(taps), _last(VGG16), smallest)


def _last(stages: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(stage[-1] for stage in stages)
