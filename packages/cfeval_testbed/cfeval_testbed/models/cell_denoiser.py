"""The network that takes noise off cells; images (N, 3, 32, 32) in [−1, 1].

It is a UNet2DModel of diffusers under the same names, written out here: diffusers takes 3.3 s of a processor to import,
in each of a study's jobs, and more than what the network computes there.

variable → symbol (Ho et al. 2020): `alphas_cumprod` → ᾱ_t, `noisy` → x_t, `clean` → x̂_0.
"""

import math
from collections import OrderedDict
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from cfeval_testbed.render import CELL

TIMESTEPS = 1000
_BLOCK = 4
_WIDTH, _HEADS, _GROUPS = 64, 2, 16
"""Channels of both levels, heads that attend, groups of a normalisation."""
assert CELL % (2 * _BLOCK) == 0, "the lower level has half the blocks"


def alphas_cumprod() -> Tensor:
    """ᾱ_t of the linear schedule (Ho et al. 2020, Section 4), float64 (1000,)."""
    return torch.cumprod(1 - torch.linspace(1e-4, 0.02, TIMESTEPS, dtype=torch.float64), 0)


class CellDenoiser(nn.Module):
    """Predicts the clean cell from a noisy one; 1.2 M parameters, unconditional.

    It works on blocks of 4 × 4 pixels, which costs about a third of blocks of 2 × 2. The clean image is what it
    predicts because small networks predict noise badly where there is little of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unet = _UNet(3 * _BLOCK**2)

    def forward(self, noisy: Tensor, timesteps: Tensor) -> Tensor:
        """x̂_0 (N, 3, 32, 32) for x_t and timesteps (N,) in [0, 1000)."""
        predicted = self.unet(functional.pixel_unshuffle(noisy, _BLOCK), timesteps)
        return functional.pixel_shuffle(predicted, _BLOCK)


class _UNet(nn.Module):
    """Two levels, the lower one of which attends."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv_in = nn.Conv2d(channels, _WIDTH, 3, padding=1)
        layers = {"linear_1": nn.Linear(_WIDTH, 4 * _WIDTH), "silu": nn.SiLU()}
        self.time_embedding = nn.Sequential(OrderedDict(layers, linear_2=nn.Linear(4 * _WIDTH, 4 * _WIDTH)))
        self.down_blocks = nn.ModuleList([_Level(1, down=True), _Level(1, 1)])
        self.mid_block = _Level(2, 1)
        self.up_blocks = nn.ModuleList([_Level(2, 2, joins=True, up=True), _Level(2, joins=True)])
        self.conv_norm_out = nn.GroupNorm(_GROUPS, _WIDTH)
        self.conv_out = nn.Conv2d(_WIDTH, channels, 3, padding=1)

    def forward(self, x: Tensor, timesteps: Tensor) -> Tensor:
        time = self._embedded(timesteps, x.dtype)
        x = self.conv_in(x)
        skipped = [x]
        for level in self.down_blocks:
            x = level(x, time, skipped)
        x = self.mid_block(x, time, [])
        for level in self.up_blocks:
            x = level(x, time, skipped)
        return cast(Tensor, self.conv_out(functional.silu(self.conv_norm_out(x))))

    def _embedded(self, timesteps: Tensor, dtype: torch.dtype) -> Tensor:
        """The embedding of the timestep, (N, 256)."""
        half = _WIDTH // 2
        angles = timesteps[:, None] * torch.exp(-math.log(10000) * torch.arange(half, dtype=torch.float64) / half)
        return cast(Tensor, self.time_embedding(torch.cat([angles.cos(), angles.sin()], dim=1).to(dtype)))


class _Level(nn.Module):
    """Residual blocks, the first of which attend, and what halves or doubles the image after them.

    On the way up (`joins`) each block takes an image that was put aside on the way down.
    """

    def __init__(
        self,
        blocks: int,
        attentions: int = 0,
        joins: bool = False,
        down: bool = False,
        up: bool = False,
    ) -> None:
        super().__init__()
        self.joins = joins
        self.resnets = nn.ModuleList(_Residual((1 + joins) * _WIDTH) for _ in range(blocks))
        self.attentions = nn.ModuleList(_Attention() for _ in range(attentions))
        conv = nn.Conv2d(_WIDTH, _WIDTH, 3, 2 if down else 1, 1)
        doubled = OrderedDict(up=nn.Upsample(scale_factor=2), conv=conv)
        self.downsamplers = nn.ModuleList([nn.Sequential(OrderedDict(conv=conv))] if down else [])
        self.upsamplers = nn.ModuleList([nn.Sequential(doubled)] if up else [])

    def forward(self, x: Tensor, time: Tensor, skipped: list[Tensor]) -> Tensor:
        for number, block in enumerate(self.resnets):
            x = block(torch.cat([x, skipped.pop()], dim=1) if self.joins else x, time)
            if number < len(self.attentions):
                x = self.attentions[number](x)
            if not self.joins:
                skipped.append(x)
        for half in self.downsamplers:
            x = half(x)
            skipped.append(x)
        for double in self.upsamplers:
            x = double(x)
        return x


class _Residual(nn.Module):
    """Two convolutions, with the timestep between them, beside a shortcut."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(_GROUPS, inputs), nn.GroupNorm(_GROUPS, _WIDTH)
        self.conv1, self.conv2 = (nn.Conv2d(width, _WIDTH, 3, padding=1) for width in (inputs, _WIDTH))
        self.time_emb_proj = nn.Linear(4 * _WIDTH, _WIDTH)
        self.conv_shortcut = nn.Conv2d(inputs, _WIDTH, 1) if inputs != _WIDTH else nn.Identity()

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        shift = self.time_emb_proj(functional.silu(time))[:, :, None, None]
        hidden = self.conv1(functional.silu(self.norm1(x))) + shift
        return cast(Tensor, self.conv_shortcut(x) + self.conv2(functional.silu(self.norm2(hidden))))


class _Attention(nn.Module):
    """Every place attends to all places, beside a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.group_norm = nn.GroupNorm(_GROUPS, _WIDTH)
        self.to_q, self.to_k, self.to_v = (nn.Linear(_WIDTH, _WIDTH) for _ in range(3))
        self.to_out = nn.ModuleList([nn.Linear(_WIDTH, _WIDTH)])

    def forward(self, x: Tensor) -> Tensor:
        places = self.group_norm(x).flatten(2).transpose(1, 2)
        heads = [
            layer(places).unflatten(2, (_HEADS, -1)).transpose(1, 2) for layer in (self.to_q, self.to_k, self.to_v)
        ]
        seen = functional.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
        return cast(Tensor, x + self.to_out[0](seen).transpose(1, 2).unflatten(2, x.shape[2:]))
