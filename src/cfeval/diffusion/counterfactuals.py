"""Counterfactuals of images: the way into the guided sampler."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from cfeval.diffusion.batch import Batch, State
from cfeval.diffusion.check import Classes, batch_of
from cfeval.diffusion.draws import Draws, seeded
from cfeval.diffusion.memory import Allowance, finish
from cfeval.diffusion.networks import Models, Networks
from cfeval.diffusion.rejection import accepted
from cfeval.diffusion.schedule import respaced
from cfeval.diffusion.step import Sampler, begin, step
from cfeval.params.vce_method import Compute, Parts


@dataclass(frozen=True)
class Counterfactuals:
    """What was made of N images, on their device.

    `images` (N, 3, H, W) are not clamped: they leave [−1, 1] a little. `x0` are the clean images predicted at the last
    step. `attempts` (N,) counts the class weights tried before the last one. `finite` (N,) is False for an image that
    diverged: it is a failure, never a counterfactual. `batch` is how many images at once fitted.
    """

    images: Tensor
    x0: Tensor
    attempts: Tensor
    finite: Tensor
    batch: int


def counterfactuals(
    images: Tensor,
    seeds: Sequence[int],
    parts: Parts,
    models: Models,
    classes: Classes | None = None,
    compute: Compute = Compute(),  # noqa: B008 (frozen)
    draws: Draws = seeded,
    progress: Callable[[int], None] | None = None,
) -> Counterfactuals:
    """Make a counterfactual of each image.

    Args:
        images: (N, 3, H, W), float32 in [−1, 1], of the denoiser's size.
        seeds: one per image; the noise of an image follows from its seed alone, whatever else is in the batch. Equal
            seeds give equal noise ("the same noise for every group" of the reference code).
        parts: the method.
        models: the networks; each keeps to its device, and images travel.
        classes: source and target classes; not needed without guidance and with an unconditional denoiser.
        compute: how many images at once, in which precision.
        draws: where noise comes from.
        progress: called with how many images were done since it was last called.

    Raises:
        InputError, ParamsError: images, classes, networks and method do not fit together.
        BackendError: not even a single image fits into memory.
    """
    everything = batch_of(images, seeds, parts, models, classes)
    schedule = respaced(models.denoiser.alphas_cumprod, parts.respacing)
    sampler = Sampler(parts, Networks(models, compute), schedule, draws)
    made, x0 = torch.empty_like(everything.original), torch.empty_like(everything.original)
    attempts = torch.zeros(everything.size, dtype=torch.long)
    waiting = torch.arange(everything.size)
    allowance = Allowance(compute.batch)
    for attempt, scale in enumerate(parts.scales if parts.guidance != "none" else (0.0,)):
        attempts[waiting] = attempt
        for state, rows in _finished(sampler, everything, waiting, attempt, scale, allowance):
            made[rows.to(made.device)] = state.x0 if parts.output == "x0" else state.noisy
            x0[rows.to(made.device)] = state.x0
            if progress and attempt == 0:
                progress(len(rows))
        if attempt + 1 < len(parts.scales) and len(waiting):
            waiting = waiting[~_flipped(sampler, everything.rows(waiting), made[waiting.to(made.device)], allowance)]
    finite = torch.isfinite(made).flatten(1).all(1)
    there = images.device
    return Counterfactuals(made.to(there), x0.to(there), attempts.to(there), finite.to(there), allowance.batch)


def _flipped(sampler: Sampler, batch: Batch, made: Tensor, allowance: Allowance) -> Tensor:
    classifier, prepared = sampler.networks.models.classifier, sampler.parts.prepared
    assert classifier is not None
    assert batch.targets is not None
    return accepted(made, batch.targets, classifier, prepared, allowance).cpu()


def _finished(
    sampler: Sampler, everything: Batch, waiting: Tensor, attempt: int, scale: float, allowance: Allowance
) -> "list[tuple[State, Tensor]]":
    """The end states of the images that wait, with the rows that each is about."""
    finished = []
    start = 0
    while start < len(waiting):
        rows = waiting[start : start + allowance.batch]
        start += len(rows)
        part = everything.rows(rows)
        trajectory = _Trajectory(sampler, part, rows, sampler.parts.steps, attempt, scale)
        finished += [(end.state, end.rows) for end in finish(trajectory, allowance) if end.state is not None]
    return finished


@dataclass(frozen=True)
class _Trajectory:
    """A batch on its way: `left` steps are to come; without a state it has not been noised yet."""

    sampler: Sampler
    batch: Batch
    rows: Tensor
    left: int
    attempt: int
    scale: float
    state: State | None = None

    @property
    def size(self) -> int:
        return self.batch.size

    @property
    def finished(self) -> bool:
        return self.left == 0

    def advanced(self) -> Self:
        state = self.state or begin(self.sampler, self.batch)
        after = step(self.sampler, self.batch, state, self.left - 1, self.attempt, self.scale)
        return replace(self, left=self.left - 1, state=after)

    def halves(self) -> tuple[Self, Self]:
        middle = (self.size + 1) // 2
        return self._rows(slice(0, middle)), self._rows(slice(middle, None))

    def _rows(self, chosen: slice) -> Self:
        state = None if self.state is None else self.state.rows(chosen)
        return replace(self, batch=self.batch.rows(chosen), rows=self.rows[chosen], state=state)
