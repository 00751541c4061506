"""The networks that see cells: a denoiser and classifiers of several kinds; pictures (N, 3, 32, 32) in [−1, 1].

variable → symbol (Ho et al. 2020): `alphas_cumprod` → ᾱ_t, `noisy` → x_t, `clean` → x̂_0.
"""

from typing import Any, Literal, cast

import torch
from diffusers import UNet2DModel
from torch import Tensor, nn
from torch.nn import functional

from cfeval.testbed.render import CELL
from cfeval.testbed.scenes import CELL_CLASSES

TIMESTEPS = 1000
Kind = Literal["standard", "small", "transformer", "noisy", "robust", "random"]
_BLOCK = 2


def alphas_cumprod() -> Tensor:
    """ᾱ_t of the linear schedule (Ho et al. 2020, Section 4), float64 (1000,)."""
    return torch.cumprod(1 - torch.linspace(1e-4, 0.02, TIMESTEPS, dtype=torch.float64), 0)


class CellDenoiser(nn.Module):
    """Predicts the clean cell from a noisy one; 1.8 M parameters, unconditional.

    It works on blocks of 2 × 2 pixels, which costs a quarter. The clean picture is what it predicts because small
    networks predict noise badly where there is little of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unet: Any = UNet2DModel(  # type: ignore[no-untyped-call]
            sample_size=CELL // _BLOCK,
            in_channels=3 * _BLOCK**2,
            out_channels=3 * _BLOCK**2,
            block_out_channels=(32, 64, 96),
            layers_per_block=1,
            down_block_types=("DownBlock2D", "DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D", "UpBlock2D"),
            norm_num_groups=16,
            attention_head_dim=32,
        )

    def forward(self, noisy: Tensor, timesteps: Tensor) -> Tensor:
        """x̂_0 (N, 3, 32, 32) for x_t and timesteps (N,) in [0, 1000)."""
        predicted = self.unet(functional.pixel_unshuffle(noisy, _BLOCK), timesteps).sample
        return functional.pixel_shuffle(predicted, _BLOCK)


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
    """Layer normalisation over the channels of a picture."""

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
}
