"""One guided step back, from x_t to x_{t−1}, for a batch: where the parts of a method come together.

Sources: DBVCE's code (generation loop), DVCE, DiME (Algorithm 1), FastDiME (Algorithm 1), MaskDiME. Symbols: see the
package.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from cfeval.diffusion.batch import Batch, State
from cfeval.diffusion.draws import Draws
from cfeval.diffusion.guidance import Guided, Moment, guide, needs_graph
from cfeval.diffusion.look import Look, look
from cfeval.diffusion.masks import blended, of_difference, of_gradient
from cfeval.diffusion.networks import Networks
from cfeval.diffusion.schedule import Schedule
from cfeval.params.vce_method import Parts


@dataclass(frozen=True)
class Sampler:
    """A method on its networks: everything that a step needs beside the images."""

    parts: Parts
    networks: Networks
    schedule: Schedule
    draws: Draws


def begin(sampler: Sampler, batch: Batch) -> State:
    """The noised images: x_t at the first step, or one step ahead of it."""
    parts = sampler.parts
    noise = _drawn(sampler, batch, "start")
    noisy = sampler.schedule.noised(batch.original, parts.steps - 1 + parts.noise_ahead, noise)
    return State(noisy, batch.original, batch.original)


def step(sampler: Sampler, batch: Batch, state: State, index: int, attempt: int, scale: float) -> State:
    """x_{t−1} for a batch at step `index` of the schedule, guided with the class weight `scale`."""
    parts = sampler.parts
    seen = _look(sampler, batch.labels, state.noisy, index, needs_graph(parts))
    clean = state.clean if state.inner is None else blended(state.inner, seen.x0, batch.original)
    moment = Moment(sampler.schedule, index, attempt, state.noisy, clean, seen)
    guided = guide(parts, sampler.networks, batch, moment, scale)
    mean = seen.mean if guided.direction is None else seen.mean + seen.variance * guided.direction
    noisy = _sampled(sampler, batch, seen, mean, "step", attempt, index)
    mask, inner = _masks(parts, batch, seen, guided, index)
    if mask is not None:
        kept = _kept(sampler, batch, index, attempt)
        noisy = blended(mask, noisy, kept)
    return State(noisy, seen.x0, _clean(sampler, batch, noisy, seen, mask, index, attempt), inner)


def _look(sampler: Sampler, labels: Tensor | None, noisy: Tensor, index: int, graph: bool = False) -> Look:
    return look(sampler.networks, sampler.schedule, noisy, index, labels, sampler.parts.clip_denoised, graph)


def _sampled(sampler: Sampler, batch: Batch, seen: Look, mean: Tensor, *purpose: str | int) -> Tensor:
    """A draw around the mean, with the variance of the step; the mean itself at the last one (index 0)."""
    if not sampler.parts.stochastic or purpose[-1] == 0:
        return mean
    return mean + (0.5 * seen.log_variance).exp() * _drawn(sampler, batch, *purpose)


def _masks(parts: Parts, batch: Batch, seen: Look, guided: Guided, index: int) -> tuple[Tensor | None, Tensor | None]:
    """Where the image may change at this step, and for MaskDiME where the next clean estimate may; None: everywhere."""
    done = parts.steps - 1 - index
    if parts.mask == "difference" and done >= round(parts.mask_warmup * parts.steps):
        return of_difference(seen.x0, batch.original, parts.mask_threshold, parts.mask_dilation), None
    if parts.mask == "gradient" and guided.of_class is not None:
        return of_gradient(guided.of_class, parts.mask_share, parts.mask_inner, parts.mask_dilation)
    return None, None


def _kept(sampler: Sampler, batch: Batch, index: int, attempt: int) -> Tensor:
    """What stands outside a mask: the original, noised as the step was; at the end, itself."""
    if index == 0:
        return batch.original
    return sampler.schedule.noised(batch.original, index, _drawn(sampler, batch, "keep", attempt, index))


def _clean(
    sampler: Sampler, batch: Batch, noisy: Tensor, seen: Look, mask: Tensor | None, index: int, attempt: int
) -> Tensor:
    """The clean estimate for the next step; the original where no part looks at it."""
    parts = sampler.parts
    if parts.guidance != "clean" or index == 0 or parts.mask == "gradient":
        return batch.original
    if parts.nested:
        return _denoised(sampler, batch, noisy, index, attempt)
    return seen.x0 if mask is None else blended(mask, seen.x0, batch.original)


@torch.no_grad()
def _denoised(sampler: Sampler, batch: Batch, noisy: Tensor, index: int, attempt: int) -> Tensor:
    """The images denoised to the end without guidance, from the step below `index` (DiME, Algorithm 1)."""
    for inner in reversed(range(index)):
        seen = _look(sampler, batch.labels, noisy, inner)
        noisy = _sampled(sampler, batch, seen, seen.mean, "nested", attempt, index, inner)
    return noisy


def _drawn(sampler: Sampler, batch: Batch, *purpose: str | int) -> Tensor:
    drawn = sampler.draws(batch.seeds, batch.original.shape[1:], *purpose)
    return drawn.to(batch.original.device, batch.original.dtype)
