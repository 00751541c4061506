"""EfficientNet-Lite (Liu 2020; EfficientNet: Tan and Le 2019), under the weights' own names.

Lite: no squeeze-and-excitation, ReLU6, and a first and last stage that are not scaled. Convolutions pad as TensorFlow
does ("same": the odd pixel goes to the right and below), because the weights were trained there.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from cfeval.inference.local.depthwise import filtered

STAGES = (
    # blocks, kernel, stride, expansion, channels
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
"""Of EfficientNet-B0 (Tan and Le 2019, Table 1)."""
STEM, HEAD = 32, 1280


@dataclass(frozen=True)
class Scale:
    """How a variant is scaled: channels, blocks, and the height and width of its inputs."""

    width: float
    depth: float
    size: int


SCALES = {0: Scale(1.0, 1.0, 224), 1: Scale(1.0, 1.1, 240), 2: Scale(1.1, 1.2, 260)}


class SameConv(nn.Conv2d):
    """A convolution without bias whose output is the input's size divided by the stride, rounded up."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__(inputs, outputs, kernel, stride, groups=groups, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(N, inputs, H, W) → (N, outputs, ⌈H / stride⌉, ⌈W / stride⌉)."""
        height, width = (self._padding(side) for side in x.shape[-2:])
        padded = functional.pad(x, (*width, *height)) if any((*width, *height)) else x
        if self.groups > 1 and padded.dtype == torch.float64 and padded.is_cpu and not padded.requires_grad:
            return filtered(padded, self.weight, self.stride[0])
        return super().forward(padded)

    def _padding(self, side: int) -> tuple[int, int]:
        stride, kernel = self.stride[0], self.kernel_size[0]
        whole = max((math.ceil(side / stride) - 1) * stride + kernel - side, 0)
        return whole // 2, whole - whole // 2


class Block(nn.Module):
    """An inverted bottleneck: expand, convolve each channel, project; added to its input where the shapes allow."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = inputs * expansion
        self.adds, self.expands = stride == 1 and inputs == outputs, expansion != 1
        if self.expands:
            self._expand_conv, self._bn0 = SameConv(inputs, wide, 1), _norm(wide)
        self._depthwise_conv, self._bn1 = SameConv(wide, wide, kernel, stride, groups=wide), _norm(wide)
        self._project_conv, self._bn2 = SameConv(wide, outputs, 1), _norm(outputs)

    def forward(self, x: Tensor) -> Tensor:
        """(N, inputs, H, W) → (N, outputs, ⌈H / stride⌉, ⌈W / stride⌉)."""
        wide = functional.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        seen = functional.relu6(self._bn1(self._depthwise_conv(wide)))
        out: Tensor = self._bn2(self._project_conv(seen))
        return x + out if self.adds else out


class EfficientNetLite(nn.Module):
    """The network; `features` are what the last layer sees."""

    def __init__(self, scale: Scale, classes: int = 1000) -> None:
        super().__init__()
        self._conv_stem, self._bn0 = SameConv(3, STEM, 3, 2), _norm(STEM)
        blocks: list[nn.Module] = []
        width = STEM
        for stage, (count, kernel, stride, expansion, channels) in enumerate(STAGES):
            outer = stage in (0, len(STAGES) - 1)
            # A multiple of 8 that is not more than a tenth below.
            exact = channels * scale.width
            rounded = max(8, int(exact + 4) // 8 * 8)
            outputs = rounded + 8 if rounded < 0.9 * exact else rounded
            for number in range(count if outer else math.ceil(count * scale.depth)):
                blocks.append(Block(width, outputs, kernel, stride if number == 0 else 1, expansion))
                width = outputs
        self._blocks = nn.ModuleList(blocks)
        self._conv_head, self._bn1 = SameConv(width, HEAD, 1), _norm(HEAD)
        self._fc = nn.Linear(HEAD, classes)

    def features(self, x: Tensor) -> Tensor:
        """The pooled features (N, 1280) of inputs (N, 3, H, W)."""
        x = functional.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        return functional.relu6(self._bn1(self._conv_head(x))).mean(dim=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """The logits (N, classes) of inputs (N, 3, H, W)."""
        logits: Tensor = self._fc(self.features(x))
        return logits


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3)


def network(variant: int) -> EfficientNetLite:
    """A network with weights that mean nothing yet."""
    with torch.random.fork_rng(devices=[]):
        return EfficientNetLite(SCALES[variant])
