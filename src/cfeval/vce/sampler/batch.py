"""A batch of images with what is wanted of each, and where its denoising stands; one line where it does not fit."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Self

import torch
from torch import Tensor

from cfeval.core.errors import InputError, ParamsError, nearest
from cfeval.vce.interfaces import Autoencoder, Bridge, Classifier, Classless, Prompted
from cfeval.vce.method import Parts
from cfeval.vce.sampler.networks import Models
from cfeval.vce.sampler.stabilization import Past

Indices = Sequence[int]


@dataclass(frozen=True)
class _Rows:
    """Values with one row per image: tensors, tuples, or None."""

    def rows(self, chosen: slice | Tensor) -> Self:
        """The same of some of the images."""
        return replace(self, **{f.name: _chosen(getattr(self, f.name), chosen) for f in fields(self)})


@dataclass(frozen=True)
class Batch(_Rows):
    """What does not change: originals (N, 3, H, W) on the denoiser's device, classes (N,), a seed each.

    `labels` are the target in the denoiser's own classes and `other_labels` the source, None where it has no classes.
    `region` is where an image may change from the start, (N, 1, H, W); None: all over. `latents` are the originals as
    a denoiser of latents takes them; None: it takes pixels.
    """

    original: Tensor
    seeds: tuple[int, ...]
    targets: Tensor | None = None
    robust_targets: Tensor | None = None
    labels: Tensor | None = None
    other_labels: Tensor | None = None
    region: Tensor | None = None
    latents: Tensor | None = None

    @property
    def start(self) -> Tensor:
        """The originals as the denoiser takes them, pixels or latents."""
        return self.original if self.latents is None else self.latents

    @property
    def size(self) -> int:
        """How many images."""
        return len(self.original)


@dataclass(frozen=True)
class State(_Rows):
    """What a step changes: x_t, the last x̂₀, the clean estimate, MaskDiME's inner mask (N, 1, H, W), past gradients."""

    noisy: Tensor
    x0: Tensor
    clean: Tensor
    inner: Tensor | None = None
    past: Past = field(default_factory=Past)


Value = Tensor | tuple[int, ...] | Past | None


def _chosen(value: Value, chosen: slice | Tensor) -> Value:
    if value is None:
        return None
    if isinstance(value, Past):
        mean, square = (None if part is None else _of(part, chosen) for part in (value.mean, value.square))
        return Past(mean, square, value.steps)
    if isinstance(value, Tensor):
        return _of(value, chosen)
    return value[chosen] if isinstance(chosen, slice) else tuple(value[int(row)] for row in torch.as_tensor(chosen))


def _of(value: Tensor, chosen: slice | Tensor) -> Tensor:
    return value[chosen if isinstance(chosen, slice) else chosen.to(value.device)]


@dataclass(frozen=True)
class Classes:
    """What each image is and shall become, as indices: of the explained classifier, and of others that count otherwise.

    The robust classifier's indices follow from the names of the classes where they are not given. Those of a
    conditional denoiser are the classifier's where they are not given, and both must have as many classes.
    """

    targets: Indices
    sources: Indices | None = None
    robust_targets: Indices | None = None
    denoiser_targets: Indices | None = None
    denoiser_sources: Indices | None = None


def batch_of(images: Tensor, seeds: Sequence[int], parts: Parts, models: Models, classes: Classes | None) -> Batch:
    """All images as one checked batch on the denoiser's device; InputError or ParamsError say what does not fit."""
    _check_images(images, models.denoiser.image_size, models.denoiser.dtype)
    _check_models(parts, models)
    count = len(images)
    _check_count(seeds, count, "seeds")
    device = models.denoiser.device
    original = images.to(device)
    if classes is None:
        if parts.guidance != "none" or models.denoiser.classes:
            raise InputError("classes: the method or the denoiser needs target classes; give them")
        return Batch(original, tuple(seeds))
    if models.classifier is not None:
        _check_classes(classes, models.classifier, count)
    return Batch(
        original,
        tuple(seeds),
        torch.as_tensor(classes.targets),
        _robust(classes, parts, models),
        _labels(classes.denoiser_targets, classes.targets, models, "targets"),
        _labels(classes.denoiser_sources, classes.sources, models, "sources")
        if parts.guidance in ("inversion", "prompts") or (parts.projection == "consensus" and parts.guidance != "empty")
        else None,
    )


def _check_images(images: Tensor, side: int, dtype: torch.dtype) -> None:
    if images.ndim != 4 or images.shape[1] != 3 or images.dtype != dtype:
        raise InputError(f"images must be (N, 3, H, W) of {dtype}, but are {tuple(images.shape)} of {images.dtype}")
    if not len(images):
        raise InputError("images: the group is empty; give at least one image")
    if images.shape[2:] != (side, side):
        raise InputError(
            f"images are {images.shape[2]}×{images.shape[3]}, but the denoiser makes {side}×{side}; resize them"
        )
    if not bool(torch.isfinite(images).all()) or float(images.abs().max()) > 1.001:
        raise InputError("images must lie in [-1, 1]; map [0, 1] to it by 2x - 1")


def _check_models(parts: Parts, models: Models) -> None:
    if parts.guidance != "none" and models.classifier is None:
        raise ParamsError(f"guidance '{parts.guidance}' needs a classifier; name one, or use preset 'unguided'")
    if parts.guidance == "attack" and isinstance(models.denoiser, Autoencoder):
        raise ParamsError("guidance 'attack' moves pixels, and this denoiser is one of latents; use one of pixels")
    if parts.guidance == "empty" and not isinstance(models.denoiser, Classless):
        raise ParamsError(
            "guidance 'empty' needs a denoiser that is conditional on classes and knows an empty prompt, such as "
            "Stable Diffusion by the plugin diffusers; this one does not"
        )
    if (parts.guidance == "bridge") != isinstance(models.denoiser, Bridge):
        raise ParamsError(
            "guidance 'bridge' (preset 'rcsb') and a denoiser by the plugin i2sb go together; set both or neither"
        )
    if parts.guidance == "prompts" and not isinstance(models.denoiser, Prompted):
        raise ParamsError(
            "guidance 'prompts' needs a denoiser that is told a text, such as Stable Diffusion by plugin diffusers; "
            "this one is not"
        )
    if parts.guidance == "inversion" and not models.denoiser.classes:
        raise ParamsError(
            "guidance 'inversion' needs a denoiser that is conditional on classes, such as Stable Diffusion by the "
            "plugin diffusers; this one is not"
        )
    if parts.projection == "cone" and models.robust is None:
        raise ParamsError("projection 'cone' needs a robust classifier; name one, or set projection: none")
    if parts.projection == "consensus" and not models.denoiser.classes:
        raise ParamsError(
            "projection 'consensus' needs a denoiser that is conditional on classes, and this one is not; "
            "use another denoiser, or projection 'cone' or 'none'"
        )
    if parts.perceptual_weight and models.perceptual is None:
        raise ParamsError(
            f"perceptual_weight {parts.perceptual_weight:g} needs a perceptual distance; "
            "name one, or set perceptual_weight: 0"
        )


def _check_classes(classes: Classes, classifier: Classifier, count: int) -> None:
    for name, indices in (("targets", classes.targets), ("sources", classes.sources)):
        if indices is not None:
            _check_count(indices, count, name)
            _check_range(indices, len(classifier.classes), name, "the classifier")
    for target, source in zip(classes.targets, classes.sources or (), strict=False):
        if target == source:
            raise InputError(f"target equals source: '{classifier.classes[target]}'; choose another target")


def _check_count(values: Sequence[int], count: int, name: str) -> None:
    if len(values) != count:
        raise InputError(f"{name}: {len(values)} for {count} images; give one for each")


def _check_range(indices: Indices, classes: int, name: str, whose: str) -> None:
    wrong = next((index for index in indices if not 0 <= index < classes), None)
    if wrong is not None:
        raise InputError(f"{name}: class {wrong} is not one of {whose}; allowed: 0 to {classes - 1}")


def _robust(classes: Classes, parts: Parts, models: Models) -> Tensor | None:
    if parts.projection != "cone" or models.robust is None or models.classifier is None:
        return None
    if classes.robust_targets is not None:
        _check_count(classes.robust_targets, len(classes.targets), "robust_targets")
        _check_range(classes.robust_targets, len(models.robust.classes), "robust_targets", "the robust classifier")
        return torch.as_tensor(classes.robust_targets)
    names = [models.classifier.classes[target] for target in classes.targets]
    unknown = next((name for name in names if name not in models.robust.classes), None)
    if unknown is not None:
        raise InputError(f"the robust classifier has no class '{unknown}'; {nearest(unknown, models.robust.classes)}")
    return torch.as_tensor([models.robust.classes.index(name) for name in names])


def _labels(given: Indices | None, fallback: Indices | None, models: Models, what: str) -> Tensor | None:
    """The denoiser's labels, on its device; None where it has no classes."""
    count = models.denoiser.classes
    if not count:
        return None
    if given is None and models.classifier is not None and len(models.classifier.classes) != count:
        raise InputError(f"the denoiser has {count} classes, unlike the classifier; give denoiser_{what}")
    indices = given if given is not None else fallback
    if indices is None:
        raise InputError(f"the denoiser is conditional on classes here; give the {what}")
    _check_range(indices, count, f"denoiser_{what}", "the denoiser")
    return torch.as_tensor(indices).to(models.denoiser.device)
