"""The networks as the sampler calls them: on their own devices, in the precision asked for, compiled if wanted.

Where memory runs out, the batch is halved, and it goes on from the last finished step.
"""

import gc
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from cfeval.core.errors import PluginError
from cfeval.vce.interfaces import Autoencoder, Classifier, Denoiser, PerceptualDistance, Prediction, Prompted
from cfeval.vce.method import Compute

Call = Callable[..., Tensor]
R = TypeVar("R")
_SIGNS = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory")


@dataclass(frozen=True)
class Models:
    """The networks of a study; which of them a method needs, `batch_of` says."""

    denoiser: Denoiser
    classifier: Classifier | None = None
    robust: Classifier | None = None
    perceptual: PerceptualDistance | None = None


@dataclass(frozen=True)
class Asked:
    """What a classifier is asked: the rise of which class (N,), at which timestep, as logit or as log-probability."""

    targets: Tensor
    timestep: int
    prepared: bool
    loss: str

    def scores(self, logits: Tensor) -> Tensor:
        """The logit of each image's target, or its log-probability, (N,), of logits (N, classes) on any device.

        log p is log σ(z_t − log Σ_{j≠t} exp z_j): where a classifier is sure, 1 − p, the gradient of `log_softmax`, is
        nothing but the processor's rounding, and a unit vector of it points anywhere.
        """
        places = self.targets.to(logits.device).view(-1, 1)
        wanted = logits.gather(1, places).squeeze(1)
        if self.loss == "logit":
            return wanted
        return logsigmoid(wanted - logits.scatter(1, places, -torch.inf).logsumexp(1))


@dataclass(frozen=True)
class Networks:
    """`models`, called as `compute` says."""

    models: Models
    compute: Compute
    compiled: dict[int, Callable[..., object]] = field(default_factory=dict)

    def predict(self, noisy: Tensor, timestep: int, labels: Tensor | None) -> Prediction:
        """The denoiser's prediction, of the dtype of x_t, for x_t that is on its device."""
        denoiser = self.models.denoiser
        timesteps = torch.full((len(noisy),), timestep, device=noisy.device)
        with self._precision(noisy.device):
            said = self._call(denoiser.predict)(noisy, timesteps, labels)
        assert isinstance(said, Prediction)
        return Prediction(said.noise.to(noisy), None if said.variance is None else said.variance.to(noisy))

    def predict_under(self, noisy: Tensor, timestep: int, text: Tensor) -> Tensor:
        """The noise in x_t under a text (N, tokens, width), of the dtype of x_t."""
        denoiser = self.models.denoiser
        assert isinstance(denoiser, Prompted)
        timesteps = torch.full((len(noisy),), timestep, device=noisy.device)
        with self._precision(noisy.device):
            return denoiser.predict_under(noisy, timesteps, text).noise.to(noisy)

    def encode(self, images: Tensor) -> Tensor:
        """The latents of images, without a graph; the images themselves where the denoiser works on pixels."""
        denoiser = self.models.denoiser
        if not isinstance(denoiser, Autoencoder):
            return images
        with torch.no_grad():
            return denoiser.encode(images).to(images)

    def decode(self, latents: Tensor) -> Tensor:
        """The images of latents; the latents themselves where the denoiser works on pixels."""
        denoiser = self.models.denoiser
        return denoiser.decode(latents).to(latents) if isinstance(denoiser, Autoencoder) else latents

    def pulled_to_latents(self, latents: Tensor, gradient_of: Call) -> Tensor:
        """`gradient_of(images)` of the decoded images, pulled back through the decoder."""
        if not isinstance(self.models.denoiser, Autoencoder):
            return gradient_of(latents)
        with torch.enable_grad():
            leaf = latents.detach().requires_grad_()
            images = self.decode(leaf)
        return pulled_back(gradient_of(images.detach()), images, leaf)

    def logits(self, classifier: Classifier, images: Tensor, timestep: int, prepared: bool) -> Tensor:
        """The logits, of the dtype of the images, for images that are on the classifier's device."""
        timesteps = torch.full((len(images),), timestep, device=images.device) if classifier.timed else None
        with self._precision(images.device):
            logits = self._call(classifier.logits)(images, timesteps, prepared)
        assert isinstance(logits, Tensor)
        return logits.to(images.dtype)

    def class_gradient(self, classifier: Classifier, images: Tensor, asked: Asked, moved: Call | None) -> Tensor:
        """The gradient, with respect to each image, of its target's log-probability or logit.

        `moved` makes augmented copies of the images; their mean counts. The images come from any device and the
        gradient goes back to it.
        """
        with torch.enable_grad():
            leaf = images.detach().to(classifier.device).requires_grad_()
            shown = moved(leaf) if moved else leaf
            logits = self.logits(classifier, shown, asked.timestep, asked.prepared)
            copies = len(shown) // len(leaf)
            total = replace(asked, targets=asked.targets.repeat(copies)).scores(logits).sum() / copies
        return torch.autograd.grad(total, leaf)[0].to(images.device)

    def perceptual_gradient(self, images: Tensor, original: Tensor) -> Tensor:
        """The gradient of the perceptual distance to the originals, with respect to each image."""
        assert self.models.perceptual is not None
        with torch.enable_grad():
            leaf = images.detach().requires_grad_()
            total = self.models.perceptual.distance(self.decode(leaf), original).sum()
        if not total.requires_grad:
            raise PluginError(
                "the perceptual distance passes no gradient on; name another, or set perceptual_weight: 0"
            )
        return torch.autograd.grad(total, leaf)[0]

    def _call(self, function: Callable[..., object]) -> Callable[..., object]:
        if not self.compute.compile:
            return function
        key = id(getattr(function, "__self__", function))
        if key not in self.compiled:
            self.compiled[key] = torch.compile(function)
        return self.compiled[key]

    def _precision(self, device: torch.device) -> AbstractContextManager[object]:
        if self.compute.precision == "float32":
            return nullcontext()
        return torch.autocast(device.type, getattr(torch, self.compute.precision))


def pulled_back(gradient: Tensor, output: Tensor, leaf: Tensor, keep: bool = False) -> Tensor:
    """Jᵀu for J = ∂output/∂leaf and u = `gradient`; the graph is freed, unless it is to be kept."""
    # The gradient of ⟨output, u⟩ is the same to the bit; given as `grad_outputs`, u makes torch import SymPy (0.4 s).
    with torch.enable_grad():
        product = (output * gradient).sum()
    return torch.autograd.grad(product, leaf, retain_graph=keep)[0]


@dataclass
class BatchBudget:
    """How many images at once have fitted so far."""

    batch: int

    def halve(self, size: int, what: str) -> None:
        """Allow half of a size that did not fit, and say so; PluginError where it was a single image."""
        if size == 1:
            raise PluginError(
                f"{what}: out of memory with a single image; use smaller images or networks, or free memory"
            )
        if torch.cuda.is_available():
            gc.collect()
            torch.cuda.empty_cache()
        self.batch = min(self.batch, (size + 1) // 2)
        print(f"{what}: out of memory with {size} images at once, going on with {self.batch}", file=sys.stderr)


class Task(Protocol):
    """Work on several images that goes in steps and can be cut in two between them."""

    @property
    def size(self) -> int:
        """How many images it is about."""
        ...

    @property
    def finished(self) -> bool:
        """Whether no step is left."""
        ...

    def advanced(self) -> Self:
        """The same after one more step; the task itself stays as it is."""
        ...

    def halves(self) -> tuple[Self, Self]:
        """Its first and its second half of the images, at the same step."""
        ...


T = TypeVar("T", bound=Task)


def finish(task: T, allowance: BatchBudget) -> list[T]:
    """Take a task to its end, in one piece or, where memory does not suffice, in several; they are in order."""
    pending, done = [task], []
    while pending:
        now = pending.pop()
        if now.finished:
            done.append(now)
            continue
        after = _attempt(now.advanced) if now.size <= allowance.batch else None
        if after is not None:
            pending.append(after)
            continue
        if now.size <= allowance.batch:
            allowance.halve(now.size, "counterfactuals")
        pending += reversed(now.halves())
    return done


def mapped(call: Callable[[int, int], Tensor], count: int, allowance: BatchBudget, what: str) -> Tensor:
    """`call(start, end)` over 0 … count in batches, its results joined."""
    results: list[Tensor] = []
    start = 0
    while start < count:
        end = min(start + allowance.batch, count)
        result = _attempt(lambda start=start, end=end: call(start, end))  # type: ignore[misc]
        if result is None:
            allowance.halve(end - start, what)
            continue
        results.append(result)
        start = end
    return torch.cat(results)


def _attempt(call: Callable[[], R]) -> R | None:
    """What a call returns, or None if it ran out of memory; its frames, and what they hold, are gone by then."""
    try:
        return call()
    except (RuntimeError, MemoryError) as error:
        if isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in _SIGNS):
            return None
        raise
