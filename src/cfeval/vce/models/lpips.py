"""A learned perceptual distance (Zhang et al. 2018, "The Unreasonable Effectiveness of Deep Features", Equation 1).

Images are compared in a trunk: a list of convolutional layers, and the places of those whose outputs are compared. The
places of the layers are those of torchvision's networks (LPIPS) and of the published ST-LPIPS, so that their weights
fit.

The package lpips, and torchmetrics, which has a copy of it, give the same values to the last bit at 0.95 to 1.15 of the
time (64 and 224 pixels), but build the whole classifier, random, for its first layers: 0.3 s and 239 MB in place of
0.02 s and 15 MB (AlexNet), 1.3 s and 534 MB in place of 0.1 s and 62 MB (VGG-16). They have no ST-LPIPS.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

from cfeval.core.errors import PluginError
from cfeval.vce.models.checkpoints import fit, read

VGG16 = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))
"""Widths of the convolutions between the poolings (Simonyan and Zisserman 2015, configuration D)."""
_TINY = 1e-10
"""Keeps the features of a blank patch from being divided by 0; the value of the published code."""


@dataclass(frozen=True)
class Trunk:
    """Layers, the places of those that are compared, and the smallest image, in pixels a side, that they can take."""

    layers: nn.Sequential
    taps: tuple[int, ...]
    widths: tuple[int, ...]
    smallest: int


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
        if min(first.shape[-2:]) < self.smallest:
            size = " × ".join(map(str, first.shape[-2:]))
            raise PluginError(
                f"{self.name} needs images of at least {self.smallest} × {self.smallest} pixels, but got {size}; "
                "take larger images or another distance"
            )
        images = torch.cat([first, second]).to(self.shift)
        found: Tensor = self((images - self.shift) / self.scale).to(first)
        return found

    def forward(self, images: Tensor) -> Tensor:
        """The distances (N,) of prepared images (2N, 3, H, W), the first half to the second."""
        total = images.new_zeros(len(images) // 2)
        heads = iter(self.heads)
        for place, layer in enumerate(self.layers):
            images = layer(images)
            if place in self.taps:
                one, other = _unit(images).chunk(2)
                total = total + next(heads)((one - other) ** 2).mean(dim=(1, 2, 3))
        return total


def _unit(features: Tensor) -> Tensor:
    """Features (N, C, H, W) scaled to length 1 at each place."""
    length: Tensor = (features**2).sum(dim=1, keepdim=True).sqrt()
    return features / (length + _TINY)


def alexnet() -> Trunk:
    """AlexNet as torchvision has it (Krizhevsky 2014)."""
    layers = [nn.Conv2d(3, 64, 11, stride=4, padding=2), _relu(), nn.MaxPool2d(3, 2)]
    layers += [nn.Conv2d(64, 192, 5, padding=2), _relu(), nn.MaxPool2d(3, 2), *_upper_alexnet()]
    return Trunk(nn.Sequential(*layers), (1, 4, 7, 9, 11), (64, 192, 384, 256, 256), 31)


def vgg16() -> Trunk:
    """VGG-16 as torchvision has it."""
    return _vgg16(lambda _: [nn.MaxPool2d(2, 2)], 16)


def shift_tolerant_alexnet() -> Trunk:
    """AlexNet whose strides are blurred (Ghildyal and Liu 2022, ST-LPIPS, Section 4)."""
    layers = [nn.Conv2d(3, 64, 11, padding=2), Blur(64), _relu(), nn.MaxPool2d(3, 1), Blur(64)]
    layers += [nn.Conv2d(64, 192, 5, padding=2), _relu(), nn.MaxPool2d(3, 1), Blur(192), *_upper_alexnet()]
    return Trunk(nn.Sequential(*layers), (2, 6, 10, 12, 14), (64, 192, 384, 256, 256), 21)


def shift_tolerant_vgg16() -> Trunk:
    """VGG-16 whose poolings are blurred (ST-LPIPS)."""
    return _vgg16(lambda channels: [nn.MaxPool2d(2, 1), Blur(channels)], 18)


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
    return Trunk(nn.Sequential(*layers), tuple(taps), tuple(stage[-1] for stage in VGG16), smallest)


def load_lpips(network: PerceptualNetwork, trunk: Path, heads: Path) -> None:
    """Fit torchvision's weights of a trunk, and the heads of the package lpips.

    Raises:
        InputError: a file cannot be read.
        PluginError: one does not fit.
    """
    state = {
        name.replace("features.", "layers.", 1): tensor
        for name, tensor in read(trunk).items()
        if name.startswith("features.")
    }
    own = {name: tensor for name, tensor in network.state_dict().items() if name in ("shift", "scale")}
    fit(network, state | _heads(read(heads)) | own, trunk.name, network.name)


def load_st_lpips(network: PerceptualNetwork, path: Path) -> None:
    """Fit a weight file of ST-LPIPS, which holds trunk, heads and the scale of the inputs.

    Raises:
        InputError: the file cannot be read.
        PluginError: it does not fit.
    """
    found = read(path)
    trunk = {f"layers.{name.split('.', 2)[2]}": tensor for name, tensor in found.items() if name.startswith("net.")}
    scaling = {
        name.removeprefix("scaling_layer."): tensor
        for name, tensor in found.items()
        if name.startswith("scaling_layer.")
    }
    fit(network, trunk | _heads(found) | scaling, path.name, network.name)


def _heads(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """`lin3.model.1.weight` → `heads.3.weight`."""
    return {
        f"heads.{name.removeprefix('lin').split('.')[0]}.weight": tensor
        for name, tensor in state.items()
        if name.startswith("lin") and ".model." in name
    }
