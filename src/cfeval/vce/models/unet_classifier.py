"""The noisy classifier of guided-diffusion: a UNet's way down, then attention pooling (Dhariwal & Nichol 2021, 4.1).

Its weights go by the names of the published checkpoints. The layers are its own, because no model of diffusers is half
a UNet.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

GROUPS = 32
"""Of every normalisation; so all widths are multiples of it."""


@dataclass(frozen=True)
class Shape:
    """The architecture: `widths` of the levels, the `attends` among them, `blocks` a level, the channels of a head."""

    image_size: int
    width: int
    widths: tuple[int, ...]
    attends: tuple[bool, ...]
    blocks: int
    head_channels: int
    scale_shift: bool
    resblock_updown: bool
    classes: int


class Classifier(nn.Module):
    """Logits (N, classes) of images (N, 3, H, W) at timesteps (N,)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        embedded = 4 * shape.width
        self.width = shape.width
        self.time_embed = nn.Sequential(nn.Linear(shape.width, embedded), nn.SiLU(), nn.Linear(embedded, embedded))
        width = shape.widths[0]
        blocks: list[nn.Module] = [_Conditioned(nn.Conv2d(3, width, 3, padding=1))]
        for level, (out, attends) in enumerate(zip(shape.widths, shape.attends, strict=True)):
            for _ in range(shape.blocks):
                attention = [_Attention(out, shape.head_channels)] if attends else []
                blocks.append(_Conditioned(_residual(shape, width, out), *attention))
                width = out
            if level < len(shape.widths) - 1:
                blocks.append(
                    _Conditioned(_residual(shape, out, out, halve=True) if shape.resblock_updown else _Halved(out))
                )
        self.input_blocks = nn.ModuleList(blocks)
        last = shape.widths[-1]
        middle = [_residual(shape, last, last), _Attention(last, shape.head_channels), _residual(shape, last, last)]
        self.middle_block = _Conditioned(*middle)
        side = shape.image_size // 2 ** (len(shape.widths) - 1)
        pool = _Pool(side, last, shape.head_channels, shape.classes)
        self.out = nn.Sequential(nn.GroupNorm(GROUPS, last), nn.SiLU(), pool)

    def forward(self, images: Tensor, timesteps: Tensor) -> Tensor:
        """The logits."""
        half = self.width // 2
        speeds = torch.exp(torch.arange(half, device=images.device) * (-math.log(10000) / half))
        angles = timesteps.float()[:, None] * speeds
        embedding = self.time_embed(torch.cat([angles.cos(), angles.sin()], dim=1).to(images.dtype))
        for block in self.input_blocks:
            images = block(images, embedding)
        logits: Tensor = self.out(self.middle_block(images, embedding))
        return logits


class _Conditioned(nn.Sequential):
    """Layers one after the other, of which residual blocks are told the timestep."""

    def forward(self, x: Tensor, embedding: Tensor) -> Tensor:  # type: ignore[override]
        for layer in self:
            x = layer(x, embedding) if isinstance(layer, _Residual) else layer(x)
        return x


class _Residual(nn.Module):
    def __init__(self, width: int, embedded: int, out: int, scale_shift: bool, halve: bool) -> None:
        super().__init__()
        self.scale_shift, self.halve = scale_shift, halve
        self.in_layers = nn.Sequential(nn.GroupNorm(GROUPS, width), nn.SiLU(), nn.Conv2d(width, out, 3, padding=1))
        self.emb_layers = nn.Sequential(nn.SiLU(), nn.Linear(embedded, 2 * out if scale_shift else out))
        second = nn.Conv2d(out, out, 3, padding=1)
        self.out_layers = nn.Sequential(nn.GroupNorm(GROUPS, out), nn.SiLU(), nn.Identity(), second)
        self.skip_connection: nn.Module = nn.Identity() if out == width else nn.Conv2d(width, out, 1)

    def forward(self, x: Tensor, embedding: Tensor) -> Tensor:
        h = self.in_layers[:2](x)
        if self.halve:
            h, x = functional.avg_pool2d(h, 2), functional.avg_pool2d(x, 2)
        h = self.in_layers[2](h)
        embedded = self.emb_layers(embedding)[:, :, None, None]
        if self.scale_shift:
            scale, shift = embedded.chunk(2, dim=1)
            h = self.out_layers[0](h) * (1 + scale) + shift
        else:
            h = self.out_layers[0](h + embedded)
        added: Tensor = self.skip_connection(x) + self.out_layers[1:](h)
        return added


class _Attention(nn.Module):
    """Attention among all places; queries, keys and values of a head lie side by side in `qkv`."""

    def __init__(self, width: int, head_channels: int) -> None:
        super().__init__()
        self.heads = width // head_channels
        self.norm = nn.GroupNorm(GROUPS, width)
        self.qkv = nn.Conv1d(width, 3 * width, 1)
        self.proj_out = nn.Conv1d(width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(2)
        projected = self.qkv(self.norm(flat)).unflatten(1, (self.heads, 3, -1))
        attended = _attended(*projected.unbind(2))
        added: Tensor = flat + self.proj_out(attended)
        return added.view_as(x)


class _Pool(nn.Module):
    """Attention among all places and their mean; the mean's answer is the outcome. Queries of all heads come first."""

    def __init__(self, side: int, width: int, head_channels: int, classes: int) -> None:
        super().__init__()
        self.heads = width // head_channels
        self.positional_embedding = nn.Parameter(torch.zeros(width, side**2 + 1))
        self.qkv_proj = nn.Conv1d(width, 3 * width, 1)
        self.c_proj = nn.Conv1d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(2)
        flat = torch.cat([flat.mean(dim=2, keepdim=True), flat], dim=2) + self.positional_embedding
        query, key, value = self.qkv_proj(flat).unflatten(1, (3, self.heads, -1)).unbind(1)
        answer: Tensor = self.c_proj(_attended(query[..., :1], key, value))[:, :, 0]
        return answer


def _attended(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention of (N, heads, channels, places), the heads joined: (N, channels of all, places)."""
    attended = functional.scaled_dot_product_attention(query.mT, key.mT, value.mT)
    return attended.mT.flatten(1, 2)


def _residual(shape: Shape, width: int, out: int, halve: bool = False) -> _Residual:
    return _Residual(width, 4 * shape.width, out, shape.scale_shift, halve)


class _Halved(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.op = nn.Conv2d(width, width, 3, stride=2, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        halved: Tensor = self.op(x)
        return halved
