"""Adversarial counterfactuals (ACE, Jeanneret et al. 2023): the image is attacked through the denoiser, then repaired.

1. The attack: each iteration noises the attacked image to step τ, denoises it without guidance, and moves its pixels by
   one step along the sign of the gradient of class loss and distance, taken through the whole chain (its Eq. 4; PGD).
2. The repair: pixels that the attack changed little, and that lie near no other, are the original's; the rest is
   noised and denoised once more, with the original around it at each step (RePaint, Lugmayr et al. 2022).

Variables and symbols: see the package; attacked x', the pre-explanation. ACE counts in images in [0, 1], and so do its
step and weights here.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from cfeval.vce.method import Parts
from cfeval.vce.sampler.batch import Batch
from cfeval.vce.sampler.guidance import lp_gradient
from cfeval.vce.sampler.networks import Asked, Networks
from cfeval.vce.sampler.prediction import blended, of_difference
from cfeval.vce.sampler.schedule import Schedule

Drawn = Callable[..., Tensor]
"""Noise for the batch by its purpose."""


def adversarial(
    parts: Parts, networks: Networks, schedule: Schedule, batch: Batch, attempt: int, scale: float, drawn: Drawn
) -> Tensor:
    """The counterfactuals of a batch, (N, 3, H, W) in [−1, 1], with the class weight `scale`."""
    chain = _Chain(parts, networks, schedule, batch.labels)
    noise = drawn if parts.stochastic else partial(_none, batch.original)
    attacked = batch.original
    for iteration in range(parts.attack_iterations):
        moved = _class_gradient(chain, batch, attacked, partial(noise, "attack", attempt, iteration))
        total = -scale * moved
        if parts.distance == "image":
            total = total + parts.lp_weight * lp_gradient((attacked - batch.original) / 2, parts.lp)
        attacked = (attacked - 2 * parts.attack_step * total.sign()).clamp(-1, 1)
    return _repaired(chain, batch, attacked, attempt, noise)


class _Chain:
    """Unguided steps back, through which a gradient may flow."""

    def __init__(self, parts: Parts, networks: Networks, schedule: Schedule, labels: Tensor | None) -> None:
        self.parts, self.networks, self.schedule, self.labels = parts, networks, schedule, labels

    def back(self, noisy: Tensor, index: int, noise: Tensor | None) -> Tensor:
        """A draw of x_{t−1}; without noise its mean. A learned variance is part of the graph."""
        said = self.networks.predict(noisy, int(self.schedule.timesteps[index]), self.labels)
        x0 = self.schedule.clean(noisy, said.noise, index)
        mean = self.schedule.posterior_mean(x0.clamp(-1, 1) if self.parts.clip_denoised else x0, noisy, index)
        if noise is None:
            return mean
        return mean + (0.5 * self.schedule.log_variance(index, said.variance)).exp() * noise

    def denoised(self, images: Tensor, noise: Drawn) -> Tensor:
        """The images noised to the first step and denoised to the end."""
        last = self.parts.steps - 1
        noisy = self.schedule.noised(images, last, noise())
        for index in reversed(range(self.parts.steps)):
            step = partial(self.back, index=index, noise=noise(index) if index else None)
            keeps = torch.is_grad_enabled() and self.networks.compute.checkpoint
            noisy = checkpoint(step, noisy, use_reentrant=False) if keeps else step(noisy)
        return noisy


def _class_gradient(chain: _Chain, batch: Batch, attacked: Tensor, noise: Drawn) -> Tensor:
    """The gradient of the class term through the chain, of images in [0, 1]."""
    classifier = chain.networks.models.classifier
    assert classifier is not None
    assert batch.targets is not None
    with torch.enable_grad():
        leaf = attacked.detach().requires_grad_()
        clean = chain.denoised(leaf, noise)
    asked = Asked(batch.targets, 0, chain.parts.prepared, chain.parts.loss)
    at_clean = chain.networks.class_gradient(classifier, clean, asked, None)
    return 2 * torch.autograd.grad(clean, leaf, at_clean)[0]


@torch.no_grad()
def _repaired(chain: _Chain, batch: Batch, attacked: Tensor, attempt: int, noise: Drawn) -> Tensor:
    parts, schedule, original = chain.parts, chain.schedule, batch.original
    mask = torch.ones_like(original[:, :1])
    if parts.mask == "difference":
        mask = of_difference(attacked, original, parts.mask_threshold, parts.mask_dilation)
    noisy = schedule.noised(attacked, parts.steps - 1, noise("start"))
    for index in reversed(range(parts.steps)):
        around = schedule.noised(original, index, noise("keep", attempt, index))
        drawn = noise("step", attempt, index) if index else None
        noisy = chain.back(blended(mask, noisy, around), index, drawn)
    return blended(mask, noisy, original).clamp(-1, 1)


def _none(like: Tensor, *purpose: str | int) -> Tensor:
    del purpose
    return torch.zeros_like(like)
