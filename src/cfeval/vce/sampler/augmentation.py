"""DVCE's augmentations: a classifier sees an image as it is and slightly moved copies (the code of DVCE).

Each copy is, with probability 0.7, turned by up to 15° and shifted by up to a tenth of its side, and then, again with
0.7, seen in perspective, its corners moved inwards by up to 0.35 of half its side. Both are one resampling here, with
the border repeated; the reference code resamples twice and leaves black outside a perspective.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import grid_sample

from cfeval.vce.sampler.schedule import generator

PROBABILITY, DEGREES, SHIFT, DISTORTION = 0.7, 15.0, 0.1, 0.7


def copies(images: Tensor, count: int, seeds: Sequence[int], *purpose: str | int) -> Tensor:
    """`count` versions of each image, (count · N, 3, H, W): first all as they are, then all moved once, and so on."""
    if count == 1:
        return images
    maps = [_mapping(seed, number, *purpose) for number in range(1, count) for seed in seeds]
    moved = _seen_through(images.repeat(count - 1, 1, 1, 1), torch.stack(maps).to(images))
    return torch.cat([images, moved])


def _mapping(seed: int, number: int, *purpose: str | int) -> Tensor:
    """A homography (3, 3) of the square [−1, 1]², drawn for one copy of one image."""
    draw = torch.rand(13, generator=generator(seed, "augmentation", number, *purpose), dtype=torch.float64)
    affine = _affine(*draw[1:4].tolist()) if draw[0] < PROBABILITY else torch.eye(3, dtype=torch.float64)
    perspective = _perspective(draw[5:13]) if draw[4] < PROBABILITY else torch.eye(3, dtype=torch.float64)
    return affine @ perspective


def _affine(turn: float, right: float, down: float) -> Tensor:
    angle = math.radians(DEGREES * (2 * turn - 1))
    cos, sin = math.cos(angle), math.sin(angle)
    x, y = 2 * SHIFT * (2 * right - 1), 2 * SHIFT * (2 * down - 1)
    return torch.tensor([[cos, -sin, x], [sin, cos, y], [0, 0, 1]], dtype=torch.float64)


def _perspective(draw: Tensor) -> Tensor:
    """The homography that takes four corners moved inwards back to the corners of the square."""
    corners = torch.tensor([[-1, -1], [1, -1], [1, 1], [-1, 1]], dtype=torch.float64)
    inner = corners * (1 - DISTORTION * draw.view(4, 2) / 2)
    rows, values = [], []
    for (x, y), (u, v) in zip(inner.tolist(), corners.tolist(), strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    solved = torch.linalg.solve(torch.tensor(rows, dtype=torch.float64), torch.tensor(values, dtype=torch.float64))
    return torch.cat([solved, torch.ones(1, dtype=torch.float64)]).view(3, 3)


def _seen_through(images: Tensor, maps: Tensor) -> Tensor:
    """The images resampled bilinearly, each through its map from target to source positions."""
    height, width = images.shape[-2:]
    ys = (torch.arange(height).to(images) * 2 + 1) / height - 1
    xs = (torch.arange(width).to(images) * 2 + 1) / width - 1
    y, x = torch.meshgrid(ys, xs, indexing="ij")
    points = torch.stack([x, y, torch.ones_like(x)], dim=-1)
    there = torch.einsum("nij,hwj->nhwi", maps, points)
    return grid_sample(images, there[..., :2] / there[..., 2:], padding_mode="border", align_corners=False)
