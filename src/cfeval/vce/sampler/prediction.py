"""What the denoiser says of the noisy images at one step, and gradients through it; where an image may change.

Variables and symbols: see the package. A gradient through the denoiser is Jᵀu, where J = ∂x̂₀/∂x_t and u is a gradient
with respect to x̂₀. A mask is (N, 1, H, W), 1 where the image may change: FastDiME's self-optimised mask (Weng et al.
2024, Eq. 6 to 8) and MaskDiME's two nested gradient masks (Guo et al. 2026), as in the code of both.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import max_pool2d

from cfeval.vce.sampler.networks import Networks, pulled_back
from cfeval.vce.sampler.schedule import Schedule


@dataclass(frozen=True)
class Prediction:
    """The denoiser's word on one step: all without a graph, but for what `through` builds.

    `through(u…)` is Jᵀu for each of several u; it frees the graph, so it is called once.
    """

    noise: Tensor
    x0: Tensor
    mean: Tensor
    variance: Tensor
    log_variance: Tensor
    through: Callable[..., list[Tensor]]


def predict_x0(
    networks: Networks,
    schedule: Schedule,
    noisy: Tensor,
    index: int,
    labels: Tensor | None,
    clip: bool,
    graph: bool,
) -> Prediction:
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
            return vjp(x0, leaf, gradients)
        with torch.enable_grad():
            again = noisy.detach().requires_grad_()
            return vjp(predict(again)[0], again, gradients)

    learned = None if learned is None else learned.detach()
    mean = schedule.posterior_mean(x0.detach(), noisy, index)
    variance = schedule.variance(index, learned).to(noisy.device)
    log_variance = schedule.log_variance(index, learned).to(noisy.device)
    return Prediction(noise.detach(), x0.detach(), mean, variance, log_variance, through)


def vjp(x0: Tensor, noisy: Tensor, gradients: Sequence[Tensor]) -> list[Tensor]:
    """Jᵀu for each u, one backward pass after the other through one graph, which the last pass frees.

    Measured with a UNet of 1.97 M parameters, 64×64, batch 8, one thread, in CPU ms per image, forward pass included:
    two u this way 128, in one vectorised pass (`is_grads_batched`) 137, with the batch doubled beforehand 170.
    """
    last = len(gradients) - 1
    return [pulled_back(gradient, x0, noisy, keep=number < last) for number, gradient in enumerate(gradients)]


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
