"""The direction in which a step is guided: the class term, the distance and the perceptual term, weighted and summed.

Variables and symbols: see the package. Each term is a gradient with respect to x_t or stands in for one; a gradient
that goes through the denoiser is first taken at x̂₀ and then pulled back, all of them together.
"""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from cfeval.backends.classifiers.base import Classifier
from cfeval.diffusion.augmentation import copies
from cfeval.diffusion.batch import Batch
from cfeval.diffusion.look import Look
from cfeval.diffusion.networks import Asked, Networks
from cfeval.diffusion.schedule import Schedule
from cfeval.diffusion.terms import cone, consensus, lp_gradient, norms, unit
from cfeval.params.vce_method import Parts


@dataclass(frozen=True)
class Moment:
    """One step of a batch: its place in the schedule, x_t, the clean estimate and the denoiser's word on x_t."""

    schedule: Schedule
    index: int
    attempt: int
    noisy: Tensor
    clean: Tensor
    look: Look

    @property
    def timestep(self) -> int:
        """The training step."""
        return int(self.schedule.timesteps[self.index])


@dataclass(frozen=True)
class Guided:
    """`direction` (N, 3, H, W) is what Σ_θ multiplies; `of_class` is the class term before weight and norm."""

    direction: Tensor | None
    of_class: Tensor | None = None


def needs_graph(parts: Parts) -> bool:
    """Whether a gradient goes through the denoiser."""
    return parts.guidance == "x0" or parts.distance == "denoiser"


def guide(parts: Parts, networks: Networks, batch: Batch, moment: Moment, scale: float) -> Guided:
    """The guidance of one step; its direction is None where there is none."""
    raw = _raw_gradients(parts, networks, batch, moment)
    if parts.norm == "none" and parts.guidance == "x0" and parts.distance == "denoiser":
        together = scale * raw["explained"] - parts.lp_weight * raw["distance"]
        return Guided(moment.look.through(together)[0], raw["explained"])
    found = _pulled_back(parts, moment.look, raw)
    of_class = _projected(parts, networks, batch, moment, found)
    terms = [(scale, of_class), (-parts.lp_weight, found.get("distance")), (-1.0, found.get("perceptual"))]
    weighted = [weight * (term if parts.norm == "none" else unit(term)) for weight, term in terms if term is not None]
    if not weighted:
        return Guided(None)
    total = torch.stack(weighted).sum(0) if len(weighted) > 1 else weighted[0]
    return Guided(total * _size(parts, moment.look), of_class)


def _raw_gradients(parts: Parts, networks: Networks, batch: Batch, moment: Moment) -> dict[str, Tensor]:
    """The gradient of each term where it is first taken; those that go through the denoiser are not yet pulled back."""
    found = {}
    models = networks.models
    if parts.guidance != "none":
        assert models.classifier is not None
        assert batch.targets is not None
        found["explained"] = _of_class(parts, networks, models.classifier, batch.targets, batch, moment)
        if parts.projection == "cone" and not _same_classifier(networks, batch):
            assert models.robust is not None
            assert batch.robust_targets is not None
            found["robust"] = _of_class(parts, networks, models.robust, batch.robust_targets, batch, moment)
    if parts.distance != "none":
        image = moment.noisy if parts.distance == "noisy" else moment.look.x0
        found["distance"] = lp_gradient(image - batch.original, parts.lp)
    if parts.perceptual_weight:
        gradient = networks.perceptual_gradient(moment.clean, batch.original)
        found["perceptual"] = parts.perceptual_weight * gradient * _chain(parts, moment)
    return found


def _same_classifier(networks: Networks, batch: Batch) -> bool:
    """Whether the robust classifier is the explained one, whose gradient its own cone leaves as it is."""
    same = networks.models.robust is networks.models.classifier
    return same and batch.targets is not None and torch.equal(batch.targets, _present(batch.robust_targets))


def _of_class(
    parts: Parts, networks: Networks, classifier: Classifier, targets: Tensor, batch: Batch, moment: Moment
) -> Tensor:
    """The gradient of one classifier, where `guidance` takes it."""
    seen = {"noisy": moment.noisy, "clean": moment.clean}.get(parts.guidance, moment.look.x0)
    told = moment.timestep if parts.guidance == "noisy" or parts.classifier_time == "step" else 0
    asked = Asked(targets, told, parts.prepared, parts.loss)
    role = "explained" if classifier is networks.models.classifier else "robust"
    moved = partial(_moved, parts.augmentations, batch.seeds, role, moment) if parts.augmentations > 1 else None
    gradient = networks.class_gradient(classifier, seen, asked, moved)
    return gradient * _chain(parts, moment) if parts.guidance == "clean" else gradient


def _moved(count: int, seeds: tuple[int, ...], role: str, moment: Moment, images: Tensor) -> Tensor:
    return copies(images, count, seeds, role, moment.attempt, moment.index)


def _chain(parts: Parts, moment: Moment) -> float:
    """∂clean/∂x_t as DiME takes it, 1/√ᾱ (DiME, Eq. 7), or 1 (FastDiME)."""
    return float(moment.schedule.alphas_cumprod[moment.index]) ** -0.5 if parts.chain_rule else 1.0


def _pulled_back(parts: Parts, look: Look, raw: dict[str, Tensor]) -> dict[str, Tensor]:
    """The gradients with those that go through the denoiser pulled back to x_t."""
    of_classes = ("explained", "robust") if parts.guidance == "x0" else ()
    wanted = (*of_classes, *(("distance",) if parts.distance == "denoiser" else ()))
    through = [name for name in wanted if name in raw]
    if not through:
        return raw
    return raw | dict(zip(through, look.through(*(raw[name] for name in through)), strict=True))


def _projected(
    parts: Parts, networks: Networks, batch: Batch, moment: Moment, found: dict[str, Tensor]
) -> Tensor | None:
    """The class term: the classifier's gradient, its cone's, or what the denoiser's own classes agree with."""
    explained = found.get("explained")
    if explained is None:
        return None
    if "robust" in found:
        return cone(found["robust"], explained, parts.angle, parts.in_cone)
    if parts.projection == "consensus":
        return consensus(explained, _implicit(networks, batch, moment), parts.angle)
    return explained


def _implicit(networks: Networks, batch: Batch, moment: Moment) -> Tensor:
    """The gradient of log p(target | x_t) / p(source | x_t) that is implicit in a conditional denoiser, up to a factor.

    LDCE contrasts target with no label; a denoiser here need not know "no label", so the source stands in its place.
    """
    with torch.no_grad():
        other = networks.predict(moment.noisy, moment.timestep, batch.other_labels).noise
    return other - moment.look.noise


def _size(parts: Parts, look: Look) -> Tensor | float:
    """The norm that each term gets, (N, 1, 1, 1)."""
    if parts.norm == "none":
        return 1.0
    return norms(look.mean if parts.norm == "mean" else look.noise)


def _present(value: Tensor | None) -> Tensor:
    assert value is not None
    return value
