"""The networks of guided-diffusion as its paper and its checkpoints describe them, plain: UNet and noisy classifier.

Names and shapes of the weights are those of the published checkpoints. No part of it is shared with cfeval.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


def sinusoids(timesteps: Tensor, width: int) -> Tensor:
    """Cosines, then sines, of t/10000^(k/half)."""
    half = width // 2
    speeds = torch.tensor([10000 ** (-k / half) for k in range(half)])
    angles = timesteps.float()[:, None] * speeds
    return torch.cat([angles.cos(), angles.sin()], dim=1)


class Residual(nn.Module):
    """GroupNorm, SiLU, convolution, twice; the timestep comes in before or around the second normalisation."""

    def __init__(self, width: int, told: int, out: int, film: bool, sample: str = "") -> None:
        super().__init__()
        self.film, self.sample = film, sample
        self.in_layers = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, out, 3, padding=1))
        self.emb_layers = nn.Sequential(nn.SiLU(), nn.Linear(told, out * (1 + film)))
        self.out_layers = nn.Sequential(
            nn.GroupNorm(32, out), nn.SiLU(), nn.Identity(), nn.Conv2d(out, out, 3, padding=1)
        )
        self.skip_connection = nn.Conv2d(width, out, 1) if width != out else nn.Identity()

    def resized(self, x: Tensor) -> Tensor:
        if self.sample == "up":
            return x.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)
        return functional.avg_pool2d(x, 2) if self.sample == "down" else x

    def forward(self, x: Tensor, told: Tensor) -> Tensor:
        normalise, activate, convolve = self.in_layers
        h = convolve(self.resized(activate(normalise(x))))
        embedded = self.emb_layers(told)[:, :, None, None]
        normalise, *rest = self.out_layers
        if self.film:
            scale, shift = embedded.chunk(2, dim=1)
            h = normalise(h) * (1 + scale) + shift
        else:
            h = normalise(h + embedded)
        for layer in rest:
            h = layer(h)
        return self.skip_connection(self.resized(x)) + h


def attended(qkv: Tensor, heads: int, queries_first: bool) -> Tensor:
    """Attention of (N, 3C, L), one image and one head at a time."""
    images = []
    for one in qkv:
        width = len(one) // 3 // heads
        rows = one.reshape(3, heads, width, -1) if queries_first else one.reshape(heads, 3, width, -1).transpose(0, 1)
        outcomes = []
        for head in range(heads):
            query, key, value = rows[0, head], rows[1, head], rows[2, head]
            weight = (query.T @ key / math.sqrt(width)).softmax(dim=-1)
            outcomes.append(value @ weight.T)
        images.append(torch.cat(outcomes))
    return torch.stack(images)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, queries_first: bool) -> None:
        super().__init__()
        self.heads, self.queries_first = heads, queries_first
        self.norm = nn.GroupNorm(32, width)
        self.qkv = nn.Conv1d(width, 3 * width, 1)
        self.proj_out = nn.Conv1d(width, width, 1)

    def forward(self, x: Tensor, told: Tensor) -> Tensor:
        flat = x.flatten(2)
        found = attended(self.qkv(self.norm(flat)), self.heads, self.queries_first)
        return (flat + self.proj_out(found)).view_as(x)


class Halved(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.op = nn.Conv2d(width, width, 3, stride=2, padding=1)

    def forward(self, x: Tensor, told: Tensor) -> Tensor:
        return self.op(x)


class Doubled(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor, told: Tensor) -> Tensor:
        return self.conv(functional.interpolate(x, scale_factor=2))


class First(nn.Conv2d):
    def forward(self, x: Tensor, told: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(x)


def through(blocks: Any, x: Tensor, told: Tensor) -> Tensor:
    for layer in blocks:
        x = layer(x, told)
    return x


class Network(nn.Module):
    """The way down and the middle, which UNet and classifier share."""

    def __init__(
        self,
        size: int,
        channels: int,
        mult: Sequence[float],
        blocks: int,
        attention: Sequence[int],
        heads: int = 4,
        head_channels: int = 0,
        film: bool = True,
        updown: bool = True,
        queries_first: bool = False,
        classes: int = 0,
    ) -> None:
        super().__init__()
        told = 4 * channels
        self.channels, self.widths, self.blocks, self.updown = (
            channels,
            [int(channels * m) for m in mult],
            blocks,
            updown,
        )
        self.attending = [size / 2**level in attention for level in range(len(mult))]
        self.residual = lambda a, b, sample="": Residual(a, told, b, film, sample)
        self.attention = lambda w: Attention(w, w // head_channels if head_channels else heads, queries_first)
        self.time_embed = nn.Sequential(nn.Linear(channels, told), nn.SiLU(), nn.Linear(told, told))
        if classes:
            self.label_emb = nn.Embedding(classes, told)
        width = self.widths[0]
        self.skips = [width]
        self.input_blocks = nn.ModuleList([nn.ModuleList([First(3, width, 3, padding=1)])])
        for level, out in enumerate(self.widths):
            for _ in range(blocks):
                attention_here = [self.attention(out)] if self.attending[level] else []
                self.input_blocks.append(nn.ModuleList([self.residual(width, out), *attention_here]))
                self.skips.append(out)
                width = out
            if level < len(self.widths) - 1:
                self.input_blocks.append(
                    nn.ModuleList([self.residual(width, width, "down") if updown else Halved(width)])
                )
                self.skips.append(width)
        self.middle_block = nn.ModuleList(
            [self.residual(width, width), self.attention(width), self.residual(width, width)]
        )

    def told(self, timesteps: Tensor, labels: Tensor | None = None) -> Tensor:
        time = self.time_embed(sinusoids(timesteps, self.channels))
        return time if labels is None else time + self.label_emb(labels)

    def down(self, x: Tensor, told: Tensor) -> list[Tensor]:
        seen = [x]
        for block in self.input_blocks:
            seen.append(through(block, seen[-1], told))
        return seen[1:]


class UNet(Network):
    """The denoiser: (N, 3, H, W) in, noise and, with `out` 6, variance out."""

    def __init__(self, *args: Any, out: int = 6, **options: Any) -> None:
        super().__init__(*args, **options)
        width = self.widths[-1]
        self.output_blocks = nn.ModuleList()
        for level in reversed(range(len(self.widths))):
            for number in range(self.blocks + 1):
                layers = [self.residual(width + self.skips.pop(), self.widths[level])]
                width = self.widths[level]
                layers += [self.attention(width)] if self.attending[level] else []
                if level and number == self.blocks:
                    layers.append(self.residual(width, width, "up") if self.updown else Doubled(width))
                self.output_blocks.append(nn.ModuleList(layers))
        self.out = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, out, 3, padding=1))

    def forward(self, x: Tensor, timesteps: Tensor, labels: Tensor | None = None) -> Tensor:
        told = self.told(timesteps, labels)
        seen = self.down(x, told)
        h = through(self.middle_block, seen[-1], told)
        for block in self.output_blocks:
            h = through(block, torch.cat([h, seen.pop()], dim=1), told)
        return self.out(h)


class Pool(nn.Module):
    """Attention among the places and their mean, of which the mean's answer is kept."""

    def __init__(self, side: int, width: int, head_channels: int, out: int) -> None:
        super().__init__()
        self.heads = width // head_channels
        self.positional_embedding = nn.Parameter(torch.randn(width, side**2 + 1))
        self.qkv_proj = nn.Conv1d(width, 3 * width, 1)
        self.c_proj = nn.Conv1d(width, out, 1)

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(2)
        flat = torch.cat([flat.mean(dim=2, keepdim=True), flat], dim=2) + self.positional_embedding
        return self.c_proj(attended(self.qkv_proj(flat), self.heads, True))[:, :, 0]


class Classifier(Network):
    """The noisy classifier: logits (N, out)."""

    def __init__(self, size: int, *args: Any, head_channels: int = 64, out: int = 1000, **options: Any) -> None:
        super().__init__(size, *args, head_channels=head_channels, **options)
        width, side = self.widths[-1], size // 2 ** (len(self.widths) - 1)
        self.out = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), Pool(side, width, head_channels, out))

    def forward(self, x: Tensor, timesteps: Tensor) -> Tensor:
        told = self.told(timesteps)
        return self.out(through(self.middle_block, self.down(x, told)[-1], told))


def randomised(network: nn.Module, seed: int = 0) -> Any:
    """Random weights in place of those that start at 0 or 1, so that every one of them counts."""
    generator = torch.Generator().manual_seed(seed)
    for name, value in network.named_parameters():
        spread = 0.05 if value.ndim < 2 else 1 / math.sqrt(value[0].numel())
        fresh = torch.randn(value.shape, generator=generator) * spread
        value.data = fresh + 1 if value.ndim == 1 and name.endswith("weight") else fresh
    return network.eval().requires_grad_(False)
