"""The networks that see cells: classifiers of several kinds; images (N, 3, 32, 32) in [−1, 1]."""

from typing import Literal, cast

import torch
from torch import Tensor, nn

from cfeval_testbed.records import COLORS, SHAPES
from cfeval_testbed.render import CELL
from cfeval_testbed.scenes import CELL_CLASSES, parts_of

Kind = Literal["standard", "small", "transformer", "noisy", "robust", "random", "texture", "shortcut", "brittle"]
FLAWED: tuple[Kind, ...] = ("texture", "shortcut", "brittle")
"""Classifiers with a known defect; none of them may be an oracle."""
TILE = 8
"""Side of the tiles that `texture` sees one by one, pixels."""
TAG = 6
"""Side of the tag in the upper left corner that `shortcut` reads, pixels."""
TAG_COLORS = ((0.5, 0.9, 0.1), (0.1, 0.9, 0.9), (0.1, 0.1, 0.5), (0.4, 0.2, 0.0), (0.9, 0.1, 0.9))
"""RGB in [0, 1] of the tag of each shape; none is the colour of an object or a background."""


class CellClassifier(nn.Module):
    """Logits of the 40 classes; `temperature` calibrates them and is fitted after training."""

    temperature: Tensor

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self.network = _BUILDS[kind]()
        self.register_buffer("temperature", torch.ones(()))

    def forward(self, cells: Tensor) -> Tensor:
        """Logits (N, 40), not yet divided by the temperature."""
        return cast(Tensor, self.network(cells))


class _ChannelNorm(nn.Module):
    """Layer normalisation over the channels of an image."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)

    def forward(self, x: Tensor) -> Tensor:
        return cast(Tensor, self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2))


class _ConvNextBlock(nn.Module):
    """Depthwise convolution, normalisation, two pointwise convolutions, beside a shortcut (Liu et al. 2022)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(channels, channels, 5, padding=2, groups=channels),
            _ChannelNorm(channels),
            nn.Conv2d(channels, 3 * channels, 1),
            nn.GELU(),
            nn.Conv2d(3 * channels, channels, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return cast(Tensor, x + self.path(x))


class _Transformer(nn.Module):
    """A small vision transformer on patches of 4 × 4 pixels."""

    def __init__(self, width: int = 96, depth: int = 3) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.places = nn.Parameter(torch.randn(1, (CELL // 4) ** 2, width) * 0.02)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 2 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(CELL_CLASSES))

    def forward(self, cells: Tensor) -> Tensor:
        x = self.patches(cells).flatten(2).transpose(1, 2) + self.places
        for block in self.blocks:
            x = block(x)
        return cast(Tensor, self.head(self.norm(x).mean(1)))


class _Brittle(nn.Module):
    """Takes color and shape from `standard` as hard decisions, which have no gradient, and the shape from patterns too.

    `patterns` (5, 3, 32, 32), one a shape, have norm 1, are orthogonal and faint in cells. Where that of a shape
    outweighs that of the decided shape by `MARGIN` / `GAIN` in L2 norm, it outvotes it, and every gradient is that of
    the patterns: gradients are obfuscated (Athalye et al. 2018), and what follows them is an adversarial example.
    """

    MARGIN, GAIN, COLOR = 8.0, 22.0, 16.0
    patterns: Tensor
    shapes: Tensor
    colors: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.decides = _standard()
        self.register_buffer("patterns", torch.zeros(len(SHAPES), 3, CELL, CELL))
        parts = [parts_of(label) for label in CELL_CLASSES]
        self.register_buffer("shapes", torch.tensor([SHAPES.index(shape) for _, shape in parts]), persistent=False)
        self.register_buffer("colors", torch.tensor([COLORS.index(color) for color, _ in parts]), persistent=False)

    def forward(self, cells: Tensor) -> Tensor:
        decided = self.decides(cells).argmax(1)
        same_shape = self.shapes == self.shapes[decided][:, None]
        same_color = self.colors == self.colors[decided][:, None]
        there = cells.flatten(1) @ self.patterns.flatten(1).T
        return self.MARGIN * same_shape + self.COLOR * same_color + self.GAIN * there[:, self.shapes]


class _Tiles(nn.Module):
    """The mean of what is said of each tile by itself, so that no outline is seen (as Brendel and Bethge 2019)."""

    def __init__(self, width: int = 96) -> None:
        super().__init__()
        self.of_tile = nn.Sequential(
            *(nn.Conv2d(3, width, TILE, TILE), nn.GELU(), nn.Conv2d(width, width, 1), nn.GELU()),
            nn.Conv2d(width, len(CELL_CLASSES), 1),
        )

    def forward(self, cells: Tensor) -> Tensor:
        return cast(Tensor, self.of_tile(cells).mean((2, 3)))


def tagged(cells: Tensor, shapes: Tensor, opacities: Tensor | float = 1.0) -> Tensor:
    """Cells (N, 3, 32, 32) with the tag of a shape (N,), a number from 0 to 4, in the upper left corner.

    Through a tag of opacity (N,) below 1 the cell shows.
    """
    colors = torch.tensor(TAG_COLORS).to(cells)[shapes] * 2 - 1
    share = torch.as_tensor(opacities).to(cells).expand(len(cells))[:, None, None, None]
    marked = cells.clone()
    corner = marked[:, :, :TAG, :TAG]
    marked[:, :, :TAG, :TAG] = corner + share * (colors[:, :, None, None] - corner)
    return marked


def _standard() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 48, 4, 4),
        _ChannelNorm(48),
        _ConvNextBlock(48),
        _ConvNextBlock(48),
        nn.Conv2d(48, 96, 2, 2),
        _ConvNextBlock(96),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(4 * 96, len(CELL_CLASSES)),
    )


def _small() -> nn.Module:
    """Few wide convolutions with pooling between, then dense layers (as Krizhevsky et al. 2012)."""
    return nn.Sequential(
        *(nn.Conv2d(3, 24, 5, 2, 2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(24, 48, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(48, 48, 3, 1, 1), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(48 * 16, 64), nn.ReLU(), nn.Linear(64, len(CELL_CLASSES))),
    )


def _convolutional(width: int = 48) -> nn.Module:
    def layer(before: int, after: int, kernel: int, stride: int) -> list[nn.Module]:
        return [nn.Conv2d(before, after, kernel, stride, 1, bias=False), nn.GroupNorm(8, after), nn.SiLU()]

    return nn.Sequential(
        *layer(3, width, 4, 2),
        *layer(width, width, 3, 1),
        *layer(width, 2 * width, 3, 2),
        *layer(2 * width, 2 * width, 3, 1),
        *layer(2 * width, 2 * width, 3, 2),
        nn.Flatten(),
        nn.Linear(2 * width * 16, len(CELL_CLASSES)),
    )


_BUILDS = {
    "standard": _standard,
    "small": _small,
    "transformer": _Transformer,
    "noisy": _convolutional,
    "robust": _convolutional,
    "random": _small,
    "texture": _Tiles,
    "shortcut": _small,
    "brittle": _Brittle,
}
