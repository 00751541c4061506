"""The direction in which a step is guided: the class term, the distance and the perceptual term, weighted and summed.

Variables and symbols: see the package. Each term is a gradient with respect to x_t or stands in for one; a gradient
that goes through the denoiser is first taken at x̂₀ and then pulled back, all of them together. Explained is the
gradient of the classifier to explain (f), robust that of the robust one (r); all are (N, 3, H, W), and every image is
treated by itself.

A black box is asked for outputs alone. Particles are drawn around x_t in pairs, x_t ± r ξ_k; the denoiser predicts the
clean image of each, the classifier says how likely the target is in it, and the covariance of the two over the
particles is the direction. It tends to J Jᵀ ∇f, the gradient of f at x̂₀ seen through the denoiser's Jacobian J, so that
it stays in what the denoiser can draw. Sources: derivative-free guidance by an ensemble, FreeMCG (Kim et al. 2024,
arXiv 2411.15265), with pairs as in evolution strategies (Salimans et al. 2017, Section 2). TIME (Jeanneret et al. 2024)
is black-box too, but distils the classifier into prompts of a text-to-image model, which a denoiser without text does
not have. Pair k of `particles` / 2, spread r as a share of the noise √(1 − ᾱ_t), value f.

DVCE's augmentations: a classifier sees an image as it is and slightly moved copies (the code of DVCE). Each copy is,
with probability 0.7, turned by up to 15° and shifted by up to a tenth of its side, and then, again with 0.7, seen in
perspective, its corners moved inwards by up to 0.35 of half its side. Both are one resampling here, with the border
repeated; the reference code resamples twice and leaves black outside a perspective.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import grid_sample

from cfeval.vce.interfaces import Classifier
from cfeval.vce.method import Parts
from cfeval.vce.sampler.batch import Batch
from cfeval.vce.sampler.networks import Asked, Networks
from cfeval.vce.sampler.prediction import Prediction
from cfeval.vce.sampler.schedule import Schedule, generator, seeded
from cfeval.vce.sampler.stabilization import Past, stabilized

TINY = 1e-22
"""What the reference code adds to a norm that is smaller."""


@dataclass(frozen=True)
class StepState:
    """One step of a batch: its place in the schedule, x_t, the clean estimate and the denoiser's word on x_t.

    `past` is what its class gradients were before.
    """

    schedule: Schedule
    index: int
    attempt: int
    noisy: Tensor
    clean: Tensor
    prediction: Prediction
    past: Past = field(default_factory=Past)

    @property
    def timestep(self) -> int:
        """The training step."""
        return int(self.schedule.timesteps[self.index])


@dataclass(frozen=True)
class Guided:
    """`direction` (N, 3, H, W) is what Σ_θ multiplies; `of_class` is the class term before weight and norm.

    `past` is what the class gradients were up to this step.
    """

    direction: Tensor | None
    of_class: Tensor | None = None
    past: Past = field(default_factory=Past)


def needs_graph(parts: Parts) -> bool:
    """Whether a gradient goes through the denoiser."""
    return parts.guidance == "x0" or parts.distance == "denoiser"


def guide(parts: Parts, networks: Networks, batch: Batch, moment: StepState, scale: float) -> Guided:
    """The guidance of one step; its direction is None where there is none."""
    raw = _raw_gradients(parts, networks, batch, moment)
    if parts.one_pull_back:
        together = scale * raw["explained"] - parts.lp_weight * raw["distance"]
        return Guided(moment.prediction.through(together)[0], raw["explained"])
    if parts.cone_at == "x0" and "robust" in raw:
        raw["explained"] = cone(raw.pop("robust"), raw["explained"], parts.angle, parts.in_cone)
    found = _vjp(parts, moment.prediction, raw)
    past = moment.past
    if "explained" in found:
        found["explained"], past = stabilized(parts, found["explained"], past)
    of_class = _projected(parts, networks, batch, moment, found)
    terms = [(scale, of_class), (-parts.lp_weight, found.get("distance")), (-1.0, found.get("perceptual"))]
    weighted = [weight * (term if parts.norm == "none" else unit(term)) for weight, term in terms if term is not None]
    if not weighted:
        return Guided(None)
    total = torch.stack(weighted).sum(0) if len(weighted) > 1 else weighted[0]
    return Guided(total * _size(parts, moment.prediction), of_class, past)


def _raw_gradients(parts: Parts, networks: Networks, batch: Batch, moment: StepState) -> dict[str, Tensor]:
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
        if parts.distance == "noisy":
            found["distance"] = lp_gradient(moment.noisy - batch.start, parts.lp)
        else:
            found["distance"] = networks.pulled_to_latents(
                moment.prediction.x0, lambda images: lp_gradient(images - batch.original, parts.lp)
            )
    if parts.perceptual_weight:
        gradient = networks.perceptual_gradient(moment.clean, batch.original)
        found["perceptual"] = parts.perceptual_weight * gradient * _chain(parts, moment)
    return found


def _same_classifier(networks: Networks, batch: Batch) -> bool:
    """Whether the robust classifier is the explained one, whose gradient its own cone leaves as it is."""
    same = networks.models.robust is networks.models.classifier
    if not same or batch.targets is None or batch.robust_targets is None:
        return False
    return torch.equal(batch.targets, batch.robust_targets)


def _of_class(
    parts: Parts, networks: Networks, classifier: Classifier, targets: Tensor, batch: Batch, moment: StepState
) -> Tensor:
    seen = {"noisy": moment.noisy, "clean": moment.clean}.get(parts.guidance, moment.prediction.x0)
    told = moment.timestep if parts.guidance == "noisy" or parts.classifier_time == "step" else 0
    asked = Asked(targets, told, parts.prepared, parts.loss)
    if parts.guidance == "black-box":
        return covariance(
            *(networks, classifier, asked, moment.schedule, moment.index, moment.noisy, batch.labels, batch.seeds),
            *(moment.attempt, parts.particles, parts.particle_spread),
        )
    role = "explained" if classifier is networks.models.classifier else "robust"
    moved = partial(_moved, parts.augmentations, batch.seeds, role, moment) if parts.augmentations > 1 else None
    gradient = networks.pulled_to_latents(
        seen, lambda images: networks.class_gradient(classifier, images, asked, moved)
    )
    return gradient * _chain(parts, moment) if parts.guidance == "clean" else gradient


def _moved(count: int, seeds: tuple[int, ...], role: str, moment: StepState, images: Tensor) -> Tensor:
    return copies(images, count, seeds, role, moment.attempt, moment.index)


def _chain(parts: Parts, moment: StepState) -> float:
    """∂clean/∂x_t as DiME takes it, 1/√ᾱ, or 1 (FastDiME)."""
    return float(moment.schedule.alphas_cumprod[moment.index]) ** -0.5 if parts.chain_rule else 1.0


def _vjp(parts: Parts, prediction: Prediction, raw: dict[str, Tensor]) -> dict[str, Tensor]:
    """The gradients with those that go through the denoiser pulled back to x_t."""
    of_classes = ("explained", "robust") if parts.guidance == "x0" else ()
    wanted = (*of_classes, *(("distance",) if parts.distance == "denoiser" else ()))
    through = [name for name in wanted if name in raw]
    if not through:
        return raw
    return raw | dict(zip(through, prediction.through(*(raw[name] for name in through)), strict=True))


def _projected(
    parts: Parts, networks: Networks, batch: Batch, moment: StepState, found: dict[str, Tensor]
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


def _implicit(networks: Networks, batch: Batch, moment: StepState) -> Tensor:
    """The gradient of log p(target | x_t) / p(source | x_t) that is implicit in a conditional denoiser, up to a factor.

    LDCE contrasts target with no label; a denoiser here need not know "no label", so the source stands in its place.
    """
    with torch.no_grad():
        other = networks.predict(moment.noisy, moment.timestep, batch.other_labels).noise
    return other - moment.prediction.noise


def _size(parts: Parts, prediction: Prediction) -> Tensor | float:
    """The norm that each term gets, (N, 1, 1, 1)."""
    if parts.norm == "none":
        return 1.0
    return norms(prediction.mean if parts.norm == "mean" else prediction.noise)


def norms(images: Tensor) -> Tensor:
    """The L2 norm of each image, (N, 1, 1, 1)."""
    sizes: Tensor = torch.linalg.vector_norm(images.flatten(1), dim=1)
    return sizes.view(-1, 1, 1, 1)


def unit(gradient: Tensor) -> Tensor:
    """Each image's gradient with norm 1; one of norm 0 stays 0."""
    size = norms(gradient)
    return gradient / torch.where(size < TINY, size + TINY, size)


def lp_gradient(difference: Tensor, p: float) -> Tensor:
    """The gradient of Σ|d|^p: p·|d|^(p−1)·sign(d); below p = 1 the size of d is kept off 0."""
    if p == 1:
        return difference.sign()
    size = difference.abs() + (1e-12 if p < 1 else 0)
    gradient: Tensor = p * size.pow(p - 1) * difference.sign()
    return gradient


def cone(robust: Tensor, explained: Tensor, degrees: float, inside: Literal["classifier", "robust"]) -> Tensor:
    """The robust gradient projected onto the cone of an angle around the explained classifier's.

    Outside the cone, also where the two disagree by more than 90°, this is the vector on its boundary that lies in the
    plane of the two, f̂ + tan(angle) · r̂⊥, of norm 1/cos(angle). Inside it is the unit vector of the explained gradient
    (reference code) or of the robust one (DVCE's paper, Augustin et al. 2022), as `inside` says. Where either is 0, it
    is the explained one.
    """
    axis, alone = unit(explained), unit(robust)
    along = (robust * axis).flatten(1).sum(1).view(-1, 1, 1, 1)
    across = robust - along * axis
    cosine = (alone * axis).flatten(1).sum(1).view(-1, 1, 1, 1)
    both = (norms(robust) > 0) & (norms(explained) > 0)
    outside = both & (torch.acos(cosine.clamp(-1, 1)) > math.radians(degrees))
    boundary = axis + math.tan(math.radians(degrees)) * unit(across)
    within = axis if inside == "classifier" else torch.where(both, alone, axis)
    return torch.where(outside, boundary, within)


def consensus(explained: Tensor, implicit: Tensor, degrees: float) -> Tensor:
    """The explained gradient, set to 0 at each pixel where its angle to the implicit classifier's is larger.

    The angle is that of the two colour vectors of the pixel. A pixel at which either is 0 counts as agreeing, as in
    the reference code, where its angle is not a number. Source: LDCE, Farid et al. 2023.
    """
    cosine = torch.cosine_similarity(explained, implicit, dim=1, eps=1e-30).clamp(-1, 1)
    silent = (explained.norm(dim=1) == 0) | (implicit.norm(dim=1) == 0)
    agrees = silent | (torch.acos(cosine) <= math.radians(degrees))
    kept: Tensor = explained * agrees.unsqueeze(1)
    return kept


@torch.no_grad()
def covariance(
    networks: Networks,
    classifier: Classifier,
    question: Asked,
    schedule: Schedule,
    index: int,
    noisy: Tensor,
    labels: Tensor | None,
    seeds: tuple[int, ...],
    attempt: int,
    particles: int,
    spread: float,
) -> Tensor:
    """The covariance of x̂₀ and the target's value over the particles, of the shape of x_t; its size means nothing.

    Args:
        networks: the denoiser and how it is called.
        classifier: the black box.
        question: the targets (N,), and whether their logits or log-probabilities count.
        schedule: the noise schedule.
        index: the step in it.
        noisy: x_t, (N, …).
        labels: of a conditional denoiser.
        seeds: one an image, from which its particles follow.
        attempt: which of the scales is tried.
        particles: how many for each image, even.
        spread: how far they lie, as a share of the noise.
    """
    timestep = int(schedule.timesteps[index])
    reach = spread * float((1 - schedule.alphas_cumprod[index]).sqrt())

    def seen(images: Tensor) -> tuple[Tensor, Tensor]:
        x0 = schedule.clean(images, networks.predict(images, timestep, labels).noise, index)
        shown = networks.decode(x0).to(classifier.device)
        logits = networks.logits(classifier, shown, question.timestep, question.prepared)
        return x0, question.scores(logits).to(x0).view(-1, *[1] * (x0.ndim - 1))

    total = torch.zeros_like(noisy)
    for pair in range(particles // 2):
        drawn = seeded(seeds, noisy.shape[1:], "particles", attempt, index, pair).to(noisy)
        (x0, value), (other_x0, other_value) = seen(noisy + reach * drawn), seen(noisy - reach * drawn)
        total += (value - other_value) * (x0 - other_x0)
    return total / (2 * particles)


PROBABILITY, DEGREES, SHIFT, DISTORTION = 0.7, 15.0, 0.1, 0.7


def copies(images: Tensor, count: int, seeds: Sequence[int], *purpose: str | int) -> Tensor:
    """`count` versions of each image, (count · N, 3, H, W): first all as they are, then all moved once, and so on."""
    if count == 1:
        return images
    maps = [_mapping(seed, number, *purpose) for number in range(1, count) for seed in seeds]
    moved = _seen_through(images.repeat(count - 1, 1, 1, 1), torch.stack(maps).to(images))
    return torch.cat([images, moved])


def _mapping(seed: int, number: int, *purpose: str | int) -> Tensor:
    """A homography (3, 3) of the square [−1, 1]², drawn for one copy of one image."""
    draw = torch.rand(13, generator=generator(seed, "augmentation", number, *purpose), dtype=torch.float64)
    affine = _affine(*draw[1:4].tolist()) if draw[0] < PROBABILITY else torch.eye(3, dtype=torch.float64)
    perspective = _perspective(draw[5:13]) if draw[4] < PROBABILITY else torch.eye(3, dtype=torch.float64)
    return affine @ perspective


def _affine(turn: float, right: float, down: float) -> Tensor:
    angle = math.radians(DEGREES * (2 * turn - 1))
    cos, sin = math.cos(angle), math.sin(angle)
    x, y = 2 * SHIFT * (2 * right - 1), 2 * SHIFT * (2 * down - 1)
    return torch.tensor([[cos, -sin, x], [sin, cos, y], [0, 0, 1]], dtype=torch.float64)


def _perspective(draw: Tensor) -> Tensor:
    """The homography that takes four corners moved inwards back to the corners of the square."""
    corners = torch.tensor([[-1, -1], [1, -1], [1, 1], [-1, 1]], dtype=torch.float64)
    inner = corners * (1 - DISTORTION * draw.view(4, 2) / 2)
    rows, values = [], []
    for (x, y), (u, v) in zip(inner.tolist(), corners.tolist(), strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    solved = torch.linalg.solve(torch.tensor(rows, dtype=torch.float64), torch.tensor(values, dtype=torch.float64))
    return torch.cat([solved, torch.ones(1, dtype=torch.float64)]).view(3, 3)


def _seen_through(images: Tensor, maps: Tensor) -> Tensor:
    """The images resampled bilinearly, each through its map from target to source positions."""
    height, width = images.shape[-2:]
    ys = (torch.arange(height).to(images) * 2 + 1) / height - 1
    xs = (torch.arange(width).to(images) * 2 + 1) / width - 1
    y, x = torch.meshgrid(ys, xs, indexing="ij")
    points = torch.stack([x, y, torch.ones_like(x)], dim=-1)
    there = torch.einsum("nij,hwj->nhwi", maps, points)
    return grid_sample(images, there[..., :2] / there[..., 2:], padding_mode="border", align_corners=False)
