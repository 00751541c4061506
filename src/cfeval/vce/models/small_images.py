"""AlexNet and VGG on images far smaller than those they were made for: the same logits for a fraction of the work.

What their convolutions leave of an image of 64 pixels is a single place, which their pooling repeats to 6 × 6 or 7 × 7
for the first dense layer. Its weights are summed over those places once, and the repeating is left out.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional
from torchvision.models import VGG, AlexNet


def shorten(network: nn.Module) -> None:
    """Let a frozen network, if it is one of these, take the short way where there is a single place."""
    if not isinstance(network, (AlexNet, VGG)):
        return
    height, width = network.avgpool.output_size
    first = next(number for number, layer in enumerate(network.classifier) if isinstance(layer, nn.Linear))
    network.avgpool = _Pool((height, width))
    network.classifier[first] = _Dense(network.classifier[first], height * width)


class _Pool(nn.AdaptiveAvgPool2d):
    """Adaptive pooling that leaves a single place as it is."""

    def forward(self, input: Tensor) -> Tensor:
        return input if input.shape[-2:] == (1, 1) else super().forward(input)


class _Dense(nn.Module):
    """A dense layer that also takes a single place in place of its repetitions, (N, channels)."""

    summed: Tensor

    def __init__(self, layer: nn.Linear, places: int) -> None:
        super().__init__()
        self.layer = layer
        summed = layer.weight.view(len(layer.weight), -1, places).sum(2, dtype=torch.float32)
        self.register_buffer("summed", summed.to(layer.weight.dtype))

    def forward(self, x: Tensor) -> Tensor:
        weight = self.summed if x.shape[1] == self.summed.shape[1] else self.layer.weight
        return functional.linear(x, weight, self.layer.bias)
