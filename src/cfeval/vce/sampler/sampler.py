"""The way into the guided sampler: from images to their counterfactuals, one guided step back after the other.

Sources: the code of DBVCE, DVCE, DiME, FastDiME and MaskDiME. Symbols: see the package.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import torch
from torch import Tensor
from torch.nn.functional import adaptive_max_pool2d

from cfeval.vce.interfaces import Autoencoder, Classifier
from cfeval.vce.method import Compute, Parts
from cfeval.vce.sampler.attack import adversarial
from cfeval.vce.sampler.batch import Batch, Classes, State, batch_of
from cfeval.vce.sampler.conditional import against_empty, inverted, reworded
from cfeval.vce.sampler.guidance import Guided, StepState, guide, needs_graph
from cfeval.vce.sampler.networks import BatchBudget, Models, Networks, finish, mapped
from cfeval.vce.sampler.prediction import Prediction, blended, of_difference, of_gradient, predict_x0
from cfeval.vce.sampler.regions import crossed, region_of
from cfeval.vce.sampler.schedule import Draws, Schedule, respaced, seeded

# By guidance, the methods that have a loop of their own.
_WHOLE: Mapping[str, Callable[..., Tensor]] = {
    "attack": adversarial,
    "empty": against_empty,
    "inversion": inverted,
    "bridge": crossed,
    "prompts": reworded,
}


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


@dataclass(frozen=True)
class Sampler:
    """A method on its networks: everything that a step needs beside the images."""

    parts: Parts
    networks: Networks
    schedule: Schedule
    draws: Draws


def counterfactuals(
    images: Tensor,
    seeds: Sequence[int],
    parts: Parts,
    models: Models,
    classes: Classes | None = None,
    compute: Compute = Compute(),  # noqa: B008 (frozen)
    draws: Draws = seeded,
    progress: Callable[[int], None] | None = None,
    regions: Tensor | None = None,
) -> Counterfactuals:
    """Make a counterfactual of each image.

    Args:
        images: (N, 3, H, W), of the denoiser's dtype in [−1, 1] and of its size.
        seeds: one per image; the noise of an image follows from its seed alone, whatever else is in the batch. Equal
            seeds give equal noise ("the same noise for every group" of the reference code).
        parts: the method.
        models: the networks; each keeps to its device, and images travel.
        classes: source and target classes; not needed without guidance and with an unconditional denoiser.
        compute: how many images at once, in which precision.
        draws: where noise comes from.
        progress: called with how many images were done since it was last called.
        regions: of mask `given`, (N, 1, H, W): 1 where an image may change, else 0.

    Raises:
        InputError, ParamsError: images, classes, networks and method do not fit together.
        PluginError: not even a single image fits into memory.
    """
    everything = batch_of(images, seeds, parts, models, classes)
    levels = models.denoiser.alphas_cumprod
    schedule = respaced(levels, str(len(levels)) if parts.guidance == "bridge" else parts.respacing)
    sampler = Sampler(parts, Networks(models, compute), schedule, draws)
    allowance = BatchBudget(compute.batch)
    everything = _prepared(sampler, everything, regions, allowance)
    made, x0 = torch.empty_like(everything.original), torch.empty_like(everything.original)
    attempts = torch.zeros(everything.size, dtype=torch.long)
    waiting = torch.arange(everything.size)
    for attempt, scale in enumerate(parts.scales if parts.guidance != "none" else (0.0,)):
        attempts[waiting] = attempt
        for state, rows in _finished(sampler, everything, waiting, attempt, scale, allowance):
            places = rows.to(made.device)
            made[places], x0[places] = _images(sampler, everything.rows(rows), state)
            if progress and attempt == 0:
                progress(len(rows))
        if attempt + 1 < len(parts.scales) and len(waiting):
            waiting = waiting[~_flipped(sampler, everything.rows(waiting), made[waiting.to(made.device)], allowance)]
    finite = torch.isfinite(made).flatten(1).all(1)
    there = images.device
    return Counterfactuals(made.to(there), x0.to(there), attempts.to(there), finite.to(there), allowance.batch)


def _prepared(sampler: Sampler, batch: Batch, regions: Tensor | None, allowance: BatchBudget) -> Batch:
    """The batch with its region, and with latents where the denoiser takes those."""
    networks = sampler.networks
    region = region_of(sampler.parts, networks, batch, regions, allowance)
    if not isinstance(networks.models.denoiser, Autoencoder):
        return replace(batch, region=region)
    latents = mapped(lambda start, end: networks.encode(batch.original[start:end]), batch.size, allowance, "encoding")
    return replace(batch, region=region, latents=latents)


@torch.no_grad()
def _images(sampler: Sampler, batch: Batch, state: State) -> tuple[Tensor, Tensor]:
    """The counterfactuals and the last predicted clean images; outside a region the originals, to the last bit."""
    x0 = sampler.networks.decode(state.x0)
    made = x0 if sampler.parts.output == "x0" else sampler.networks.decode(state.noisy)
    return (made if batch.region is None else blended(batch.region, made, batch.original)), x0


def _finished(
    sampler: Sampler, everything: Batch, waiting: Tensor, attempt: int, scale: float, allowance: BatchBudget
) -> list[tuple[State, Tensor]]:
    """The end states of the images that wait, with the rows that each is about."""
    if sampler.parts.guidance in _WHOLE:
        call = partial(_whole, sampler, everything.rows(waiting), attempt, scale)
        made = mapped(call, len(waiting), allowance, sampler.parts.guidance)
        return [(State(made, made, made), waiting)]
    finished = []
    start = 0
    while start < len(waiting):
        rows = waiting[start : start + allowance.batch]
        start += len(rows)
        part = everything.rows(rows)
        trajectory = _Trajectory(sampler, part, rows, sampler.parts.steps, attempt, scale)
        finished += [(end.state, end.rows) for end in finish(trajectory, allowance) if end.state is not None]
    return finished


def _whole(sampler: Sampler, batch: Batch, attempt: int, scale: float, start: int, end: int) -> Tensor:
    """What a method with a loop of its own makes of some images of a batch."""
    part = batch.rows(slice(start, end))
    make, drawn = _WHOLE[sampler.parts.guidance], partial(_drawn, sampler, part)
    return make(sampler.parts, sampler.networks, sampler.schedule, part, attempt, scale, drawn)


def _flipped(sampler: Sampler, batch: Batch, made: Tensor, allowance: BatchBudget) -> Tensor:
    classifier, prepared = sampler.networks.models.classifier, sampler.parts.prepared
    assert classifier is not None
    assert batch.targets is not None
    return accepted(made, batch.targets, classifier, prepared, allowance).cpu()


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


def accepted(
    images: Tensor, targets: Sequence[int] | Tensor, classifier: Classifier, prepared: bool, allowance: BatchBudget
) -> Tensor:
    """Whether the classifier puts each image into its target class, (N,), on the images' device.

    The rejection step drops those that it does not (DBVCE, Section 5, Hypothesis 2).

    Args:
        images: (N, 3, H, W) in [−1, 1]; what leaves it is clamped, as it would be in an image file. An image that is
            not finite is never accepted.
        targets: (N,), indices of its classes.
        classifier: the explained one.
        prepared: whether it resizes and normalises as it was trained.
        allowance: how many images at once; halved where memory does not suffice.
    """

    @torch.no_grad()
    def predicted(start: int, end: int) -> Tensor:
        shown = images[start:end].clamp(-1, 1).to(classifier.device)
        return classifier.logits(shown, None, prepared).argmax(1).to(images.device)

    finite = torch.isfinite(images).flatten(1).all(1)
    wanted = torch.as_tensor(targets).to(images.device)
    return (mapped(predicted, len(images), allowance, "classification") == wanted) & finite


def begin(sampler: Sampler, batch: Batch) -> State:
    """The noised images: x_t at the first step, or one step ahead of it."""
    parts = sampler.parts
    noise = _drawn(sampler, batch, "start")
    noisy = sampler.schedule.noised(batch.start, parts.steps - 1 + parts.noise_ahead, noise)
    return State(noisy, batch.start, batch.start)


def step(sampler: Sampler, batch: Batch, state: State, index: int, attempt: int, scale: float) -> State:
    """x_{t−1} for a batch at step `index` of the schedule, guided with the class weight `scale`."""
    parts = sampler.parts
    seen = _prediction(sampler, batch.labels, state.noisy, index, needs_graph(parts))
    clean = state.clean if state.inner is None else blended(state.inner, seen.x0, batch.start)
    moment = StepState(sampler.schedule, index, attempt, state.noisy, clean, seen, state.past)
    guided = guide(parts, sampler.networks, batch, moment, scale) if _matters(parts, seen) else Guided(None)
    mean = seen.mean if guided.direction is None else seen.mean + seen.variance * guided.direction
    noisy = _sampled(sampler, batch, seen, mean, "step", attempt, index)
    mask, inner = _masks(parts, batch, seen, guided, index)
    if mask is not None:
        kept = _kept(sampler, batch, index, attempt)
        noisy = blended(mask, noisy, kept)
    return State(noisy, seen.x0, _clean(sampler, batch, noisy, seen, mask, index, attempt), inner, guided.past)


def _prediction(sampler: Sampler, labels: Tensor | None, noisy: Tensor, index: int, graph: bool = False) -> Prediction:
    return predict_x0(sampler.networks, sampler.schedule, noisy, index, labels, sampler.parts.clip_denoised, graph)


def _matters(parts: Parts, seen: Prediction) -> bool:
    """Whether guidance can act: Σ_θ multiplies it, and unlearned it is 0 at the last step; a mask may need it there."""
    return parts.mask == "gradient" or bool(seen.variance.any())


def _sampled(sampler: Sampler, batch: Batch, seen: Prediction, mean: Tensor, *purpose: str | int) -> Tensor:
    """A draw around the mean, with the variance of the step; the mean itself at the last one (index 0)."""
    if not sampler.parts.stochastic or purpose[-1] == 0:
        return mean
    return mean + (0.5 * seen.log_variance).exp() * _drawn(sampler, batch, *purpose)


def _masks(
    parts: Parts, batch: Batch, seen: Prediction, guided: Guided, index: int
) -> tuple[Tensor | None, Tensor | None]:
    """Where the image may change at this step, and for MaskDiME where the next clean estimate may; None: everywhere."""
    if batch.region is not None:
        return adaptive_max_pool2d(batch.region, batch.start.shape[2:]), None
    done = parts.steps - 1 - index
    if parts.mask == "difference" and done >= round(parts.mask_warmup * parts.steps):
        return of_difference(seen.x0, batch.start, parts.mask_threshold, parts.mask_dilation), None
    if parts.mask == "gradient" and guided.of_class is not None:
        return of_gradient(guided.of_class, parts.mask_share, parts.mask_inner, parts.mask_dilation)
    return None, None


def _kept(sampler: Sampler, batch: Batch, index: int, attempt: int) -> Tensor:
    """What stands outside a mask: the original, noised as the step was; at the end, itself."""
    if index == 0:
        return batch.start
    return sampler.schedule.noised(batch.start, index, _drawn(sampler, batch, "keep", attempt, index))


def _clean(
    sampler: Sampler, batch: Batch, noisy: Tensor, seen: Prediction, mask: Tensor | None, index: int, attempt: int
) -> Tensor:
    """The clean estimate for the next step; the original where no part looks at it."""
    parts = sampler.parts
    if parts.guidance != "clean" or index == 0 or parts.mask == "gradient":
        return batch.start
    if parts.nested:
        return _denoised(sampler, batch, noisy, index, attempt)
    return seen.x0 if mask is None else blended(mask, seen.x0, batch.start)


@torch.no_grad()
def _denoised(sampler: Sampler, batch: Batch, noisy: Tensor, index: int, attempt: int) -> Tensor:
    """The images denoised to the end without guidance, from the step below `index` (DiME)."""
    for inner in reversed(range(index)):
        seen = _prediction(sampler, batch.labels, noisy, inner)
        noisy = _sampled(sampler, batch, seen, seen.mean, "nested", attempt, index, inner)
    return noisy


def _drawn(sampler: Sampler, batch: Batch, *purpose: str | int) -> Tensor:
    drawn = sampler.draws(batch.seeds, batch.start.shape[1:], *purpose)
    return drawn.to(batch.start.device, batch.start.dtype)
