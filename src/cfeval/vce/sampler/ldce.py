"""Counterfactuals of a conditional denoiser against its own empty prompt (LDCE, Farid et al. 2023, Algorithm 1).

Each step predicts x̂₀ without a class, pulls the gradients of the classifier and of the distance back to x_t, and keeps
of the classifier's what agrees with the implicit one, ε(x_t, target) − ε(x_t, ∅). Both get the norm of that difference,
are weighted and move the predicted noise, with which a DDIM step is made.

Variables and symbols: see the package; implicit is that difference. The weights are those of the code times its scale
of guidance, which multiplies both. Its schedule lies one training step above a respaced one, and ends at its first.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from cfeval.vce.interfaces import Classless
from cfeval.vce.method import Parts
from cfeval.vce.sampler.batch import Batch
from cfeval.vce.sampler.guidance import consensus, lp_gradient, norms, unit
from cfeval.vce.sampler.networks import Asked, Networks
from cfeval.vce.sampler.schedule import Schedule, clean, ddim


def against_empty(
    parts: Parts,
    networks: Networks,
    schedule: Schedule,
    batch: Batch,
    attempt: int,
    scale: float,
    drawn: Callable[..., Tensor],
) -> Tensor:
    """The counterfactuals of a batch, pixels or latents as the denoiser takes them, with the class weight `scale`."""
    del attempt
    assert batch.labels is not None
    timesteps, shares = schedule.one_above(networks.models.denoiser.alphas_cumprod)
    start = shares[parts.steps + parts.noise_ahead]
    noisy = float(start.sqrt()) * batch.start + float((1 - start).sqrt()) * drawn("start")
    for index in reversed(range(parts.steps)):
        share, before = shares[index + 1], shares[index]
        noise = _noise(parts, networks, batch, (noisy, int(timesteps[index]), share), scale)
        noisy = ddim(noisy, noise, share, before)
    return noisy.detach()


def _noise(parts: Parts, networks: Networks, batch: Batch, moment: tuple[Tensor, int, Tensor], scale: float) -> Tensor:
    """The predicted noise of a step, moved by classifier and distance."""
    noisy, timestep, share = moment
    denoiser, classifier = networks.models.denoiser, networks.models.classifier
    assert isinstance(denoiser, Classless)
    assert classifier is not None
    assert batch.labels is not None
    assert batch.targets is not None
    with torch.enable_grad():
        leaf = noisy.detach().requires_grad_()
        empty = networks.predict(leaf, timestep, torch.full_like(batch.labels, denoiser.no_class)).noise
        image = networks.decode(clean(leaf, empty, share))
    with torch.no_grad():
        implicit = networks.predict(noisy, timestep, batch.labels).noise - empty
    shown = image.detach()
    gradient = networks.class_gradient(classifier, shown, Asked(batch.targets, 0, parts.prepared, parts.loss), None)
    apart = parts.distance == "denoiser"
    of_class = -torch.autograd.grad(image, leaf, gradient, retain_graph=apart)[0]
    if parts.projection == "consensus":
        of_class = consensus(of_class, implicit, parts.angle)
    moved = empty.detach() + scale * unit(of_class) * norms(implicit)
    if not apart:
        return moved
    inside = (shown >= -1) & (shown <= 1)
    away = lp_gradient(shown.clamp(-1, 1) - batch.original, parts.lp) * inside
    distance = torch.autograd.grad(image, leaf, away)[0]
    return moved + parts.lp_weight * unit(distance) * norms(implicit)
