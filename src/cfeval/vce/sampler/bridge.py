"""Counterfactuals on a Schrödinger bridge from noise in a region to the image (RCSB, Sobieski et al. 2025, Section 4).

The region is filled with noise, mixed with the original as far along the bridge as `start`, and taken back in
`bridge_steps` steps of the bridge's ODE (I2SB, Liu et al. 2023, Equations 4 and 11). Before each step x_t moves along
the gradient of the classifier at x̂₀, pulled back through the network, stabilised as Adam does and divided by the size
that it had at the first step. Around the region the original stands throughout.

Variables and symbols: see the package; forward σ²_n and backward σ̄²_n, the bridge's variances from its two ends. As in
RCSB's code the classifier sees x̂₀ stretched: its smallest value becomes −1, its largest 1.
"""

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from cfeval.vce.method import Parts
from cfeval.vce.sampler.batch import Batch
from cfeval.vce.sampler.guidance import norms
from cfeval.vce.sampler.networks import Asked, Networks
from cfeval.vce.sampler.prediction import blended
from cfeval.vce.sampler.schedule import Schedule, spread
from cfeval.vce.sampler.stabilization import Past, stabilized


def crossed(
    parts: Parts,
    networks: Networks,
    schedule: Schedule,
    batch: Batch,
    attempt: int,
    scale: float,
    drawn: Callable[..., Tensor],
) -> Tensor:
    """The counterfactuals of a batch, (N, 3, H, W) in [−1, 1], with the class weight `scale`."""
    del schedule, attempt
    assert batch.region is not None
    levels = networks.models.denoiser.alphas_cumprod
    forward = 1 / levels - 1
    length = max(2, round(parts.start * len(levels)))
    places = spread(length, min(parts.bridge_steps, length - 1) + 1)
    noisy = blended(batch.region, _noised(batch.original, forward, places[-1], drawn("start")), batch.original)
    past, first = Past(), None
    for before, now in pairwise(reversed(places)):
        x0, gradient = _prediction(parts, networks, batch, noisy, before)
        direction, past = stabilized(parts, gradient, past)
        first = norms(direction) if first is None else first
        share = float(forward[now] / forward[before])
        noisy = (1 - share) * x0 + share * (noisy + scale * direction / first)
        noisy = blended(batch.region, noisy, batch.original)
    return noisy.clamp(-1, 1)


def _noised(original: Tensor, forward: Tensor, place: int, noise: Tensor) -> Tensor:
    """The mean of x_t between the original and noise (I2SB, Equation 11)."""
    backward = forward[-1] - (forward[place - 1] if place else 0)
    share = float(forward[place] / (forward[place] + backward))
    return (1 - share) * original + share * noise


def _prediction(parts: Parts, networks: Networks, batch: Batch, noisy: Tensor, place: int) -> tuple[Tensor, Tensor]:
    """x̂₀, and the gradient of the class term with respect to x_t."""
    models = networks.models
    assert models.classifier is not None
    assert batch.targets is not None
    level = models.denoiser.alphas_cumprod[place]
    with torch.enable_grad():
        leaf = noisy.detach().requires_grad_()
        noise = networks.predict(float(level.sqrt()) * leaf, place, batch.labels).noise
        x0 = leaf - float((1 / level - 1).sqrt()) * noise
        shown = stretched(x0)
    request = Asked(batch.targets, 0, parts.prepared, parts.loss)
    at_shown = networks.class_gradient(models.classifier, shown.detach(), request, None)
    return x0.detach(), torch.autograd.grad(shown, leaf, at_shown)[0]


def stretched(images: Tensor) -> Tensor:
    """Each image mapped so that its values reach from −1 to 1."""
    low, high = images.amin((1, 2, 3), keepdim=True), images.amax((1, 2, 3), keepdim=True)
    return 2 * (images - low) / (high - low) - 1
