"""The class direction of a classifier that is asked for outputs alone: no gradient of it is ever taken.

Particles are drawn around x_t in pairs, x_t ± r ξ_k; the denoiser predicts the clean image of each, the classifier says
how likely the target is in it, and the covariance of the two over the particles is the direction. It tends to
J Jᵀ ∇f, the gradient of f at x̂₀ seen through the denoiser's Jacobian J, so that it stays in what the denoiser can draw.

Sources: derivative-free guidance by an ensemble, FreeMCG (Kim et al. 2024, arXiv 2411.15265), with pairs as in
evolution strategies (Salimans et al. 2017, Section 2). TIME (Jeanneret et al. 2024) is black-box too, but distils the
classifier into prompts of a text-to-image model, which a denoiser without text does not have.

Variables and symbols: pair k of `particles` / 2, spread r as a share of the noise √(1 − ᾱ_t), value f.
"""

import torch
from torch import Tensor

from cfeval.vce.interfaces import Classifier
from cfeval.vce.sampler.networks import Asked, Networks
from cfeval.vce.sampler.schedule import Schedule, seeded


@torch.no_grad()
def covariance(
    networks: Networks,
    classifier: Classifier,
    asked: Asked,
    schedule: Schedule,
    index: int,
    noisy: Tensor,
    labels: Tensor | None,
    seeds: tuple[int, ...],
    attempt: int,
    particles: int,
    spread: float,
) -> Tensor:
    """The covariance of x̂₀ and the target's value over the particles, of the shape of x_t; its size means nothing.

    Args:
        networks: the denoiser and how it is called.
        classifier: the black box.
        asked: the targets (N,), and whether their logits or log-probabilities count.
        schedule: the noise schedule.
        index: the step in it.
        noisy: x_t, (N, …).
        labels: of a conditional denoiser.
        seeds: one an image, from which its particles follow.
        attempt: which of the scales is tried.
        particles: how many for each image, even.
        spread: how far they lie, as a share of the noise.
    """
    timestep = int(schedule.timesteps[index])
    reach = spread * float((1 - schedule.alphas_cumprod[index]).sqrt())

    def seen(images: Tensor) -> tuple[Tensor, Tensor]:
        x0 = schedule.clean(images, networks.predict(images, timestep, labels).noise, index)
        shown = networks.decode(x0).to(classifier.device)
        logits = networks.logits(classifier, shown, asked.timestep, asked.prepared)
        return x0, asked.scores(logits).to(x0).view(-1, *[1] * (x0.ndim - 1))

    total = torch.zeros_like(noisy)
    for pair in range(particles // 2):
        drawn = seeded(seeds, noisy.shape[1:], "particles", attempt, index, pair).to(noisy)
        (x0, value), (other_x0, other_value) = seen(noisy + reach * drawn), seen(noisy - reach * drawn)
        total += (value - other_value) * (x0 - other_x0)
    return total / (2 * particles)
