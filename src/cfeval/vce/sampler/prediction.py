"""What the denoiser says of the noisy images at one step, and gradients through it.

Variables and symbols: see the package. A gradient through the denoiser is Jᵀu, where J = ∂x̂₀/∂x_t and u is a gradient
with respect to x̂₀.

Where an image may change: FastDiME's self-optimised mask, MaskDiME's two nested gradient masks.

A mask is (N, 1, H, W), 1 where the image may change. Sources: Weng et al. 2024, Eq. 6 to 8; Guo et al. 2026; the
code of both.

DVCE's augmentations: a classifier sees an image as it is and slightly moved copies (the code of DVCE).

Each copy is, with probability 0.7, turned by up to 15° and shifted by up to a tenth of its side, and then, again with
0.7, seen in perspective, its corners moved inwards by up to 0.35 of half its side. Both are one resampling here, with
the border repeated; the reference code resamples twice and leaves black outside a perspective.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import grid_sample, max_pool2d

from cfeval.vce.sampler.networks import Networks
from cfeval.vce.sampler.schedule import Schedule, generator


@dataclass(frozen=True)
class Look:
    """The denoiser's word on one step: all without a graph, but for what `through` builds.

    `through(u…)` is Jᵀu for each of several u; it frees the graph, so it is called once.
    """

    noise: Tensor
    x0: Tensor
    mean: Tensor
    variance: Tensor
    log_variance: Tensor
    through: Callable[..., list[Tensor]]


def look(
    networks: Networks,
    schedule: Schedule,
    noisy: Tensor,
    index: int,
    labels: Tensor | None,
    clip: bool,
    graph: bool,
) -> Look:
    """Ask the denoiser about x_t; `graph` says that a gradient through it will be wanted."""
    keeps = graph and not networks.compute.checkpoint
    timestep = int(schedule.timesteps[index])

    def predict(images: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        said = networks.predict(images, timestep, labels)
        x0 = schedule.clean(images, said.noise, index)
        return (x0.clamp(-1, 1) if clip else x0), said.noise, said.variance

    with torch.set_grad_enabled(keeps):
        leaf = noisy.detach().requires_grad_(keeps)
        x0, noise, learned = predict(leaf)

    def through(*gradients: Tensor) -> list[Tensor]:
        if keeps:
            return pulled_back(x0, leaf, gradients)
        with torch.enable_grad():
            again = noisy.detach().requires_grad_()
            return pulled_back(predict(again)[0], again, gradients)

    learned = None if learned is None else learned.detach()
    mean = schedule.posterior_mean(x0.detach(), noisy, index)
    variance = schedule.variance(index, learned).to(noisy.device)
    log_variance = schedule.log_variance(index, learned).to(noisy.device)
    return Look(noise.detach(), x0.detach(), mean, variance, log_variance, through)


def pulled_back(x0: Tensor, noisy: Tensor, gradients: Sequence[Tensor]) -> list[Tensor]:
    """Jᵀu for each u, one backward pass after the other through one graph, which the last pass frees.

    Measured with a UNet of 1.97 M parameters, 64×64, batch 8, one thread, in CPU ms per image, forward pass included:
    two u this way 128, in one vectorised pass (`is_grads_batched`) 137, with the batch doubled beforehand 170.
    """
    last = len(gradients) - 1
    return [
        torch.autograd.grad(x0, noisy, gradient, retain_graph=number < last)[0]
        for number, gradient in enumerate(gradients)
    ]


def of_difference(clean: Tensor, original: Tensor, threshold: float, side: int) -> Tensor:
    """1 near a pixel whose colour differs by at least `threshold` of the image's largest difference."""
    difference = (clean - original).abs().sum(1, keepdim=True)
    largest = difference.amax((1, 2, 3), keepdim=True).clamp_min(torch.finfo(difference.dtype).tiny)
    return (_dilated(difference / largest, side) >= threshold).to(clean.dtype)


def of_gradient(gradient: Tensor, share: float, inner_share: float, side: int) -> tuple[Tensor, Tensor]:
    """Two masks, dilated: the share of pixels with the largest mean absolute gradient; the largest share of those."""
    size = gradient.abs().mean(1, keepdim=True)
    pixels = size[0].numel()
    outer = max(1, int(share * pixels))
    inner = max(1, int(inner_share * outer))
    order = size.flatten(1).topk(outer, dim=1).indices
    return _dilated(_marked(size, order), side), _dilated(_marked(size, order[:, :inner]), side)


def blended(mask: Tensor, inside: Tensor, outside: Tensor) -> Tensor:
    """One image within the mask, the other around it."""
    return mask * inside + (1 - mask) * outside


def _marked(like: Tensor, indices: Tensor) -> Tensor:
    return torch.zeros_like(like).flatten(1).scatter(1, indices, 1.0).view_as(like)


def _dilated(mask: Tensor, side: int) -> Tensor:
    return max_pool2d(mask, side, stride=1, padding=side // 2)


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
