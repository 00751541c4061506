"""Counterfactuals of a denoiser that knows the classes, without any gradient (TIME, Jeanneret et al. 2024, Section 3).

The image is inverted under its own class and denoised under the target's, each with the other class as the negative
prompt: ε(x, away) + scale · (ε(x, towards) − ε(x, away)). The inversion is EDICT's (Wallace et al. 2023): two images,
of which each takes the noise of its step from the other, so that each step has an exact inverse. What the explained
classifier sees in a class comes in by the tokens that the denoiser learned for it (`cfeval.vce.models.learned_tokens`).

Variables and symbols: see the package; first x and second y are EDICT's two images, `coupling` p. With `noise_ahead` 1
the inversion starts one step up, at the noise of the lowest step, which the library that TIME's code pins does; with 0
denoising under the same class gives the image back.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from cfeval.vce.method import Parts
from cfeval.vce.sampler.batch import Batch
from cfeval.vce.sampler.networks import Networks
from cfeval.vce.sampler.schedule import Schedule, ddim


@torch.no_grad()
def inverted(
    parts: Parts,
    networks: Networks,
    schedule: Schedule,
    batch: Batch,
    attempt: int,
    scale: float,
    drawn: Callable[..., Tensor],
) -> Tensor:
    """The counterfactuals of a batch, pixels or latents as the denoiser takes them, with the guidance `scale`."""
    del drawn  # nothing is drawn
    assert batch.labels is not None
    assert batch.other_labels is not None
    source, target = batch.other_labels, batch.labels
    timesteps, shares = schedule.one_above(networks.models.denoiser.alphas_cumprod)
    keep, ahead = parts.coupling, parts.noise_ahead

    def noise(image: Tensor, index: int, towards: Tensor, away: Tensor) -> Tensor:
        timestep = int(timesteps[index])
        negative = networks.predict(image, timestep, away).noise
        return negative + scale * (networks.predict(image, timestep, towards).noise - negative)

    first = second = batch.start
    steps = parts.steps_of(attempt)
    for index in range(steps):
        here, there = shares[index + ahead], shares[index + 1 + ahead]
        second = (second - (1 - keep) * first) / keep
        first = (first - (1 - keep) * second) / keep
        second = ddim(second, noise(first, index, source, target), here, there)
        first = ddim(first, noise(second, index, source, target), here, there)
    for index in reversed(range(steps)):
        here, there = shares[index + 1], shares[index]
        first = ddim(first, noise(second, index, target, source), here, there)
        second = ddim(second, noise(first, index, target, source), here, there)
        first = keep * first + (1 - keep) * second
        second = keep * second + (1 - keep) * first
    return first
