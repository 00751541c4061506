"""Counterfactuals of denoisers that know the classes, or are told them in words: LDCE, TIME and DiG-IN.

LDCE (Farid et al. 2023, Algorithm 1) goes against the empty prompt. Each step predicts x̂₀ without a class, pulls the
gradients of the classifier and of the distance back to x_t, and keeps of the classifier's what agrees with the implicit
one, ε(x_t, target) − ε(x_t, ∅). Both get the norm of that difference, are weighted and move the predicted noise, with
which a DDIM step is made. The weights are those of the code times its scale of guidance, which multiplies both. Its
schedule lies one training step above a respaced one, and ends at its first.

TIME (Jeanneret et al. 2024, Section 3) needs no gradient. The image is inverted under its own class and denoised under
the target's, each with the other class as the negative prompt: ε(x, away) + scale · (ε(x, towards) − ε(x, away)). The
inversion is EDICT's (Wallace et al. 2023): two images, of which each takes the noise of its step from the other, so
that each step has an exact inverse. What the explained classifier sees in a class comes in by the tokens that the
denoiser learned for it (`cfeval.vce.models.learned_tokens`). With `noise_ahead` 1 the inversion starts one step up, at
the noise of the lowest step, which the library that TIME's code pins does; with 0 denoising under the same class gives
the image back.

DiG-IN (Augustin et al. 2024, Sections 3 and 5) moves what a text-to-image model is told.
1. The image is inverted under the prompt of its own class (DDIM), and at each step the empty prompt is fitted so that
   guided denoising gives it back (null-text inversion, Mokady et al. 2023).
2. Start, prompt and empty prompts of all steps move by Adam, with the gradient of classifier and distance at the last
   predicted clean images, through all steps. Of the images on the way the one of the least loss is the counterfactual.
Not here, though in its code: prompt-to-prompt with the target's name, captions, terms of a segmented background and
cutouts before the classifier.

Variables and symbols: see the package; implicit is LDCE's difference; first x and second y are EDICT's two images,
`coupling` p; text C and empties ∅_t, (1, tokens, width); DiG-IN's distance is of images in [0, 1].
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import mse_loss
from torch.utils.checkpoint import checkpoint

from cfeval.vce.interfaces import Classless, Prompted
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
        noise = _moved_noise(parts, networks, batch, (noisy, int(timesteps[index]), share), scale)
        noisy = ddim(noisy, noise, share, before)
    return noisy.detach()


def _moved_noise(
    parts: Parts, networks: Networks, batch: Batch, moment: tuple[Tensor, int, Tensor], scale: float
) -> Tensor:
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


# Steps in which an empty prompt is fitted, and the error at which that ends: so much, and so much for each step before.
FITTED = 10
ERROR, ERROR_BY_STEP = 1e-5, 2e-5
# How much the last predicted clean images count.
WEIGHTS = (1 / 6, 2 / 6, 3 / 6)


def reworded(
    parts: Parts,
    networks: Networks,
    schedule: Schedule,
    batch: Batch,
    attempt: int,
    scale: float,
    drawn: Callable[..., Tensor],
) -> Tensor:
    """The counterfactuals of a batch, as latents, with the class weight `scale`; images are optimised one by one."""
    del attempt, drawn  # nothing is drawn
    made = []
    for row in range(batch.size):
        image = batch.rows(slice(row, row + 1))
        denoiser = networks.models.denoiser
        assert isinstance(denoiser, Prompted)
        assert image.other_labels is not None
        empty = torch.full_like(image.other_labels, denoiser.no_class)
        chain = _Chain(
            parts,
            networks,
            *schedule.one_above(networks.models.denoiser.alphas_cumprod),
            denoiser.text(image.other_labels),
            denoiser.text(empty),
        )
        start, empties = chain.inverted(image.start)
        made.append(_optimised(chain, image, start, empties, scale))
    return torch.cat(made)


@dataclass(frozen=True)
class _Chain:
    """All steps, under a text."""

    parts: Parts
    networks: Networks
    timesteps: Tensor
    shares: Tensor
    text: Tensor
    empty: Tensor

    def noise(self, noisy: Tensor, index: int, text: Tensor) -> Tensor:
        """The noise under a text."""
        return self.networks.predict_under(noisy, int(self.timesteps[index]), text)

    def guided(self, towards: Tensor, away: Tensor) -> Tensor:
        """The noise towards a text and away from another."""
        return away + self.parts.prompt_scale * (towards - away)

    @torch.no_grad()
    def inverted(self, latent: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The noise that an image comes from, and the empty prompts that lead back to it, the first step's first."""
        path = [latent]
        for index in range(self.parts.steps):
            noise = self.noise(path[-1], index, self.text)
            path.append(ddim(path[-1], noise, self.shares[index], self.shares[index + 1]))
        noisy, empty, empties = path[-1], self.empty, []
        for done, index in enumerate(reversed(range(self.parts.steps))):
            towards = self.noise(noisy, index, self.text)
            empty = self._fitted(noisy, towards, empty, index, path[index], done)
            empties.append(empty)
            noise = self.guided(towards, self.noise(noisy, index, empty))
            noisy = ddim(noisy, noise, self.shares[index + 1], self.shares[index])
        return path[-1], empties

    def _fitted(self, noisy: Tensor, towards: Tensor, empty: Tensor, index: int, wanted: Tensor, done: int) -> Tensor:
        """The empty prompt under which a step leads to what is wanted."""
        leaf = empty.clone().requires_grad_()
        adam = torch.optim.Adam([leaf], lr=1e-2 * (1 - done / 100))
        for _ in range(FITTED):
            with torch.enable_grad():
                noise = self.guided(towards, self.noise(noisy, index, leaf))
                error = mse_loss(ddim(noisy, noise, self.shares[index + 1], self.shares[index]), wanted)
                leaf.grad = torch.autograd.grad(error, leaf)[0]
            adam.step()
            if error.item() < ERROR + done * ERROR_BY_STEP:
                break
        return leaf.detach()

    def denoised(self, start: Tensor, texts: Tensor, empties: Tensor) -> list[Tensor]:
        """The last predicted clean images, latents, under the texts (steps, 1, tokens, width) of all steps."""
        noisy, predicted = start, []
        for done, index in enumerate(reversed(range(self.parts.steps))):
            here, there = self.shares[index + 1], self.shares[index]

            def step(noisy: Tensor, text: Tensor, empty: Tensor, index: int = index) -> Tensor:
                return self.guided(self.noise(noisy, index, text), self.noise(noisy, index, empty))

            keeps = torch.is_grad_enabled() and self.networks.compute.checkpoint
            given = noisy, texts[done], empties[done]
            noise = checkpoint(step, *given, use_reentrant=False) if keeps else step(*given)
            predicted.append(clean(noisy, noise, here))
            noisy = ddim(noisy, noise, here, there)
        return predicted[-len(WEIGHTS) :]


@torch.no_grad()
def _optimised(chain: _Chain, batch: Batch, start: Tensor, empties: list[Tensor], scale: float) -> Tensor:
    """The latents of the image of the least loss."""
    parts, rate = chain.parts, chain.parts.prompt_rate
    start, size = start.clone().requires_grad_(), start.norm()
    texts = torch.stack([chain.text] * parts.steps).requires_grad_()
    nulls = torch.stack(empties).requires_grad_()
    adam = torch.optim.Adam([{"params": [start], "lr": 0.1 * rate}, {"params": [texts, nulls], "lr": rate}])
    best, least = start, float("inf")
    for iteration in range(parts.prompt_steps + 1):
        with torch.enable_grad():
            last = chain.denoised(start, texts, nulls)
            losses = [_loss(chain, batch, latent, scale) for latent in last]
            if losses[-1].item() < least:
                best, least = last[-1].detach(), losses[-1].item()
            if iteration == parts.prompt_steps:
                return best
            total = torch.stack(
                [weight * loss for weight, loss in zip(WEIGHTS[-len(losses) :], losses, strict=True)]
            ).sum()
            start.grad, texts.grad, nulls.grad = torch.autograd.grad(total, (start, texts, nulls))
        adam.step()
        start.mul_(size / start.norm())
    return best


def _loss(chain: _Chain, batch: Batch, latent: Tensor, scale: float) -> Tensor:
    """The class term and the distance of an image."""
    parts, networks = chain.parts, chain.networks
    classifier = networks.models.classifier
    assert classifier is not None
    assert batch.targets is not None
    image = networks.decode(latent).clamp(-1, 1)
    logits = networks.logits(classifier, image.to(classifier.device), 0, parts.prepared)
    loss = -scale * Asked(batch.targets, 0, parts.prepared, parts.loss).scores(logits).sum().to(image.device)
    if parts.distance == "image":
        loss = loss + parts.lp_weight * ((image - batch.original) / 2).abs().pow(parts.lp).mean()
    return loss
