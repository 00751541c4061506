"""The networks as the sampler calls them: on their own devices, in the precision asked for, compiled if wanted."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from cfeval.backends.classifiers.base import Classifier
from cfeval.backends.denoisers.base import Denoiser, Prediction
from cfeval.backends.perceptual.base import PerceptualDistance
from cfeval.errors import BackendError
from cfeval.params.vce_method import Compute

Call = Callable[..., Tensor]


@dataclass(frozen=True)
class Models:
    """The networks of a study; which of them a method needs, `check.py` says."""

    denoiser: Denoiser
    classifier: Classifier | None = None
    robust: Classifier | None = None
    perceptual: PerceptualDistance | None = None


@dataclass(frozen=True)
class Networks:
    """`models`, called as `compute` says."""

    models: Models
    compute: Compute
    compiled: dict[int, Callable[..., object]] = field(default_factory=dict)

    def predict(self, noisy: Tensor, timestep: int, labels: Tensor | None) -> Prediction:
        """The denoiser's prediction, float32, for x_t that is on its device."""
        denoiser = self.models.denoiser
        timesteps = torch.full((len(noisy),), timestep, device=noisy.device)
        with self._precision(noisy.device):
            said = self._call(denoiser.predict)(noisy, timesteps, labels)
        assert isinstance(said, Prediction)
        return Prediction(said.noise.float(), None if said.variance is None else said.variance.float())

    def logits(self, classifier: Classifier, images: Tensor, timestep: int, prepared: bool) -> Tensor:
        """The logits, float32, for images that are on the classifier's device."""
        timesteps = torch.full((len(images),), timestep, device=images.device) if classifier.timed else None
        with self._precision(images.device):
            logits = self._call(classifier.logits)(images, timesteps, prepared)
        assert isinstance(logits, Tensor)
        return logits.float()

    def class_gradient(self, classifier: Classifier, images: Tensor, asked: "Asked", moved: Call | None) -> Tensor:
        """The gradient, with respect to each image, of its target's log-probability or logit.

        `moved` makes augmented copies of the images; their mean counts. The images come from any device and the
        gradient goes back to it.
        """
        with torch.enable_grad():
            leaf = images.detach().to(classifier.device).requires_grad_()
            shown = moved(leaf) if moved else leaf
            logits = self.logits(classifier, shown, asked.timestep, asked.prepared)
            values = logits if asked.loss == "logit" else log_softmax(logits, dim=1)
            copies = len(shown) // len(leaf)
            targets = asked.targets.to(logits.device).repeat(copies)
            total = values.gather(1, targets.view(-1, 1)).sum() / copies
        return torch.autograd.grad(total, leaf)[0].to(images.device)

    def perceptual_gradient(self, images: Tensor, original: Tensor) -> Tensor:
        """The gradient of the perceptual distance to the originals, with respect to each image."""
        assert self.models.perceptual is not None
        with torch.enable_grad():
            leaf = images.detach().requires_grad_()
            total = self.models.perceptual.distance(leaf, original).sum()
        if not total.requires_grad:
            raise BackendError(
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


@dataclass(frozen=True)
class Asked:
    """What a classifier is asked: the rise of which class (N,), at which timestep, as logit or as log-probability."""

    targets: Tensor
    timestep: int
    prepared: bool
    loss: str
