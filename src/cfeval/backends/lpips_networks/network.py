"""A learned perceptual distance (Zhang et al. 2018, "The Unreasonable Effectiveness of Deep Features", Equation 1)."""

import torch
from torch import Tensor, nn

from cfeval.backends.lpips_networks.trunks import Trunk
from cfeval.errors import BackendError

_TINY = 1e-10
"""Keeps the features of a blank patch from being divided by 0; the value of the published code."""


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
            BackendError: the images are too small for the network.
        """
        if min(first.shape[-2:]) < self.smallest:
            size = " × ".join(map(str, first.shape[-2:]))
            raise BackendError(
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
