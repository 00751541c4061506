"""Learned perceptual distances: LPIPS (Zhang et al. 2018) by its package, ST-LPIPS (Ghildyal and Liu 2022) written out.

No package computes ST-LPIPS: that of its authors, whose weights fit here, imports IPython and torchsummary and runs in
float32 alone.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad, unfold

from cfeval.core.errors import PluginError
from cfeval.vce.models.checkpoints import fit, read

VGG16 = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))
"""Widths of the convolutions between the poolings (Simonyan and Zisserman 2015, configuration D)."""
_FEW_PLACES = 64
"""Up to so many places a product for the batch is quicker than one an image."""
_TINY = 1e-10
"""Keeps the features of a blank patch from being divided by 0; the value of the published code."""


@dataclass(frozen=True)
class Trunk:
    """Layers, the places of those that are compared, and the smallest image, in pixels a side, that they can take."""

    layers: nn.Sequential
    taps: tuple[int, ...]
    widths: tuple[int, ...]
    smallest: int


class Lpips:
    """LPIPS by the package lpips."""

    def __init__(self, net: Literal["alex", "vgg"], trunk: Path) -> None:
        """Its heads are the package's, and its trunk has the weights of a file of torchvision's.

        Raises:
            InputError: the file cannot be read.
            PluginError: it does not fit.
        """
        import lpips

        self.name, self.smallest = f"lpips ({net})", {"alex": 31, "vgg": 16}[net]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torchvision, about how lpips calls it
            self.network = lpips.LPIPS(net=net, pnet_rand=True, verbose=False).requires_grad_(False)
        stored = read(trunk)
        names = {name: f"features.{name.partition('.')[2]}" for name in self.network.net.state_dict()}
        weights = {name: stored[own] for name, own in names.items() if own in stored}
        fit(self.network.net, weights, trunk.name, self.name)

    def to(self, device: str) -> Self:
        """Itself, on a device."""
        self.network.to(device)
        return self

    def distance(self, first: Tensor, second: Tensor) -> Tensor:
        """See `PerceptualDistance.distance`; PluginError where the images are too small for the network."""
        check_size(first, self.smallest, self.name)
        device = self.network.scaling_layer.shift.device
        distance: Tensor = self.network(*(images.float().to(device) for images in (first, second)))
        return distance.flatten().to(first)


class PerceptualNetwork(nn.Module):
    """A trunk, and for each layer that is compared how much every channel counts."""

    shift: Tensor
    scale: Tensor

    def __init__(self, trunk: Trunk, name: str) -> None:
        super().__init__()
        self.name, self.taps, self.smallest = name, trunk.taps, trunk.smallest
        self.layers = trunk.layers
        self.heads = nn.ModuleList(nn.Conv2d(width, 1, 1, bias=False) for width in trunk.widths)
        self.register_buffer("shift", torch.tensor([-0.030, -0.088, -0.188]).view(1, 3, 1, 1))
        self.register_buffer("scale", torch.tensor([0.458, 0.448, 0.450]).view(1, 3, 1, 1))

    def distance(self, first: Tensor, second: Tensor) -> Tensor:
        """See `PerceptualDistance.distance`; the result is on the device of the images and of their dtype.

        Raises:
            PluginError: the images are too small for the network.
        """
        check_size(first, self.smallest, self.name)
        images = torch.cat([first, second]).to(self.shift)
        distances: Tensor = self((images - self.shift) / self.scale).to(first)
        return distances

    def forward(self, images: Tensor) -> Tensor:
        """The distances (N,) of prepared images (2N, 3, H, W), the first half to the second."""
        total = images.new_zeros(len(images) // 2)
        heads = iter(self.heads)
        for place, layer in enumerate(self.layers):
            images = layer(images)
            if place in self.taps:
                length: Tensor = (images**2).sum(dim=1, keepdim=True).sqrt()
                first, second = (images / (length + _TINY)).chunk(2)
                total = total + next(heads)((first - second) ** 2).mean(dim=(1, 2, 3))
        return total


def check_size(images: Tensor, smallest: int, name: str) -> None:
    """Refuse images (…, H, W) that are too small for a network: PluginError."""
    if min(images.shape[-2:]) < smallest:
        size = " × ".join(map(str, images.shape[-2:]))
        raise PluginError(
            f"{name} needs images of at least {smallest} × {smallest} pixels, but got {size}; "
            "take larger images or another distance"
        )


def shift_tolerant_alexnet() -> Trunk:
    """AlexNet whose strides are blurred (Ghildyal and Liu 2022, ST-LPIPS, Section 4)."""
    layers = [nn.Conv2d(3, 64, 11, padding=2), Blur(64), _relu(), nn.MaxPool2d(3, 1), Blur(64)]
    layers += [nn.Conv2d(64, 192, 5, padding=2), _relu(), nn.MaxPool2d(3, 1), Blur(192)]
    for channels, kernels in ((192, 384), (384, 256), (256, 256)):
        layers += [_SmallConvolution(channels, kernels, 3, padding=1), _relu()]
    return Trunk(nn.Sequential(*layers), (2, 6, 10, 12, 14), (64, 192, 384, 256, 256), 21)


def shift_tolerant_vgg16() -> Trunk:
    """VGG-16 whose poolings are blurred (ST-LPIPS)."""
    layers: list[nn.Module] = []
    taps = []
    channels = 3
    for stage in VGG16:
        layers += [nn.MaxPool2d(2, 1), Blur(channels)] if layers else []
        for width in stage:
            layers += [nn.Conv2d(channels, width, 3, padding=1), _relu()]
            channels = width
        taps.append(len(layers) - 1)
    return Trunk(nn.Sequential(*layers), tuple(taps), tuple(stage[-1] for stage in VGG16), 18)


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


class _SmallConvolution(nn.Conv2d):
    """A 3 × 3 convolution that keeps the size; of small images in double precision a single product for the batch."""

    def forward(self, images: Tensor) -> Tensor:
        """(N, C, H, W) → (N, outputs, H, W)."""
        # PyTorch multiplies image by image in float64, and a 4 × 4 image has too few places to fill the processor.
        count, _, height, width = images.shape
        if images.dtype != torch.float64 or height * width > _FEW_PLACES:
            return super().forward(images)
        windows = unfold(images, 3, padding=1).transpose(0, 1).flatten(1)
        made = (self.weight.flatten(1) @ windows).view(-1, count, height, width).transpose(0, 1)
        assert self.bias is not None
        return made + self.bias.view(-1, 1, 1)


def _relu() -> nn.ReLU:
    """In place: nothing else reads what goes in, and at full size memory costs more than the arithmetic."""
    return nn.ReLU(inplace=True)


def load_st_lpips(network: PerceptualNetwork, path: Path) -> None:
    """Fit a weight file of ST-LPIPS, which holds trunk, heads and the scale of the inputs.

    Raises:
        InputError: the file cannot be read.
        PluginError: it does not fit.
    """
    weights = read(path)
    trunk = {f"layers.{name.split('.', 2)[2]}": tensor for name, tensor in weights.items() if name.startswith("net.")}
    scaling = {
        name.removeprefix("scaling_layer."): tensor
        for name, tensor in weights.items()
        if name.startswith("scaling_layer.")
    }
    heads = {
        f"heads.{name.removeprefix('lin').split('.')[0]}.weight": tensor  # lin3.model.1.weight
        for name, tensor in weights.items()
        if name.startswith("lin") and ".model." in name
    }
    fit(network, trunk | heads | scaling, path.name, network.name)
