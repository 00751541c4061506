"""Counterfactuals by what a text-to-image model is told (DiG-IN, Augustin et al. 2024, Sections 3 and 5).

1. The image is inverted under the prompt of its own class (DDIM), and at each step the empty prompt is fitted so that
   guided denoising gives it back (null-text inversion, Mokady et al. 2023).
2. Start, prompt and empty prompts of all steps move by Adam, with the gradient of classifier and distance at the last
   predicted clean images, through all steps. Of the images on the way the one of the least loss is the counterfactual.

Not here, though in its code: prompt-to-prompt with the target's name, captions, terms of a segmented background and
cutouts before the classifier.

Variables and symbols: see the package; text C and empties ∅_t, (1, tokens, width); the distance is of images in [0, 1].
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import mse_loss
from torch.utils.checkpoint import checkpoint

from cfeval.vce.interfaces import Prompted
from cfeval.vce.method import Parts
from cfeval.vce.sampler.batch import Batch
from cfeval.vce.sampler.networks import Asked, Networks
from cfeval.vce.sampler.schedule import Schedule, clean, ddim

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
        chain = _Chain(
            parts, networks, *schedule.one_above(networks.models.denoiser.alphas_cumprod), *_texts(networks, image)
        )
        start, empties = chain.inverted(image.start)
        made.append(_optimised(chain, image, start, empties, scale))
    return torch.cat(made)


def _texts(networks: Networks, batch: Batch) -> tuple[Tensor, Tensor]:
    denoiser = networks.models.denoiser
    assert isinstance(denoiser, Prompted)
    assert batch.other_labels is not None
    empty = torch.full_like(batch.other_labels, denoiser.no_class)
    return denoiser.text(batch.other_labels), denoiser.text(empty)


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
