"""The region in which an image may change from the start, and the bridge across it (RCSB, Sobieski et al. 2025).

The rest of the image cannot change, so what flips the classifier is known to lie within (Section 3). The automatic
region takes integrated gradients (Sundararajan et al. 2017) of the class that the classifier sees in the original, sums
their sizes in square cells, and keeps the largest cells; else the user says where.

The bridge is one of Schrödinger's from noise in the region to the image (Section 4). The region is filled with noise,
mixed with the original as far along the bridge as `start`, and taken back in `bridge_steps` steps of the bridge's ODE
(I2SB, Liu et al. 2023, Equations 4 and 11). Before each step x_t moves along the gradient of the classifier at x̂₀,
pulled back through the network, stabilised as Adam does and divided by the size that it had at the first step. Around
the region the original stands throughout.

Variables and symbols: see the package; original x, black baseline x' = −1, path points α_k and weights w_k of
Gauss-Legendre's rule, attribution Σ_c (x − x')_c Σ_k w_k ∂f/∂x_c (x' + α_k (x − x')), whose sum over all pixels is
f(x) − f(x'); forward σ²_n and backward σ̄²_n, the bridge's variances from its two ends. As in RCSB's code the
classifier sees x̂₀ stretched on the bridge: its smallest value becomes −1, its largest 1.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, interpolate

from cfeval.core.errors import InputError, ParamsError
from cfeval.vce.interfaces import Classifier
from cfeval.vce.method import PATH_POINTS, Parts
from cfeval.vce.sampler.batch import Batch
from cfeval.vce.sampler.guidance import norms
from cfeval.vce.sampler.networks import Asked, BatchBudget, Networks, mapped
from cfeval.vce.sampler.prediction import blended
from cfeval.vce.sampler.schedule import Schedule, spread
from cfeval.vce.sampler.stabilization import Past, stabilized

BLACK = -1.0
OUTLIERS = 0.02
"""Share of the summed attribution in its largest pixels, which are cut to the next (captum's, which RCSB keeps)."""


def region_of(
    parts: Parts, networks: Networks, batch: Batch, given: Tensor | None, allowance: BatchBudget
) -> Tensor | None:
    """Where each image may change, (N, 1, H, W) of 0 and 1, on its device; None where the method constrains nothing.

    Raises:
        ParamsError: the cells do not fill the images.
        InputError: masks are missing, do not fit the images, or are empty.
    """
    if parts.mask == "given":
        if given is None:
            raise InputError(
                "mask 'given': there is no mask for the images; give one for each, or use mask 'attribution'"
            )
        wanted = (len(batch.original), 1, *batch.original.shape[2:])
        if tuple(given.shape) != wanted:
            raise InputError(f"mask 'given': the masks are {tuple(given.shape)}, but the images want {wanted}")
        if not bool(((given == 0) | (given == 1)).all()):
            raise InputError("mask 'given': masks hold 0 and 1 alone")
        if not bool(given.flatten(1).any(1).all()):
            raise InputError("mask 'given': a mask lets nothing change; mark at least one pixel")
        return given.to(batch.original)
    if parts.mask != "attribution":
        return None
    side = batch.original.shape[-1]
    if side % parts.region_cell:
        raise ParamsError(
            f"region_cell {parts.region_cell} does not divide the image's {side} pixels; choose one that does"
        )
    classifier = networks.models.classifier
    assert classifier is not None

    def attributed(start: int, end: int) -> Tensor:
        return integrated_gradients(networks, classifier, batch.original[start:end], parts.prepared)

    return largest_cells(
        mapped(attributed, batch.size, allowance, "attribution"), parts.region_share, parts.region_cell
    ).to(batch.original)


def integrated_gradients(networks: Networks, classifier: Classifier, images: Tensor, prepared: bool) -> Tensor:
    """The attribution of the logit of the class that a classifier sees, (N, 1, H, W), summed over the channels."""
    with torch.no_grad():
        seen = networks.logits(classifier, images.to(classifier.device), 0, prepared).argmax(1)
    asked = Asked(seen, 0, prepared, "logit")
    nodes, weights = np.polynomial.legendre.leggauss(PATH_POINTS)
    total = torch.zeros_like(images)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        point = BLACK + float(node) * (images - BLACK)
        total += float(weight) * networks.class_gradient(classifier, point, asked, None)
    return (total * (images - BLACK)).sum(1, keepdim=True)


def largest_cells(attribution: Tensor, share: float, cell: int) -> Tensor:
    """1 in the cells with the largest summed size of attribution, as many as fit into the share, at least one.

    Args:
        attribution: (N, 1, H, W).
        share: of the image.
        cell: side of a cell, pixels; it divides H and W.
    """
    size = attribution.abs()
    cut = torch.minimum(size, _outlier(size))
    cells = avg_pool2d(cut, cell)
    count = max(1, int(share * cells[0].numel()))
    order = cells.flatten(1).topk(count, dim=1).indices
    chosen = torch.zeros_like(cells).flatten(1).scatter(1, order, 1.0).view_as(cells)
    return interpolate(chosen, scale_factor=cell, mode="nearest")


def _outlier(size: Tensor) -> Tensor:
    """The size of the pixel at which the sum of the ascending sizes passes all but the outliers, (N, 1, 1, 1)."""
    ascending = size.flatten(1).sort(dim=1).values
    sums = ascending.cumsum(1)
    place = (sums > (1 - OUTLIERS) * sums[:, -1:]).int().argmax(1, keepdim=True)
    return ascending.gather(1, place).view(-1, 1, 1, 1)


def crossed(
    parts: Parts,
    networks: Networks,
    schedule: Schedule,
    batch: Batch,
    attempt: int,
    scale: float,
    drawn: Callable[..., Tensor],
) -> Tensor:
    """The counterfactuals of a batch, (N, 3, H, W) in [−1, 1], with the class weight `scale`."""
    del schedule, attempt
    assert batch.region is not None
    levels = networks.models.denoiser.alphas_cumprod
    forward = 1 / levels - 1
    length = max(2, round(parts.start * len(levels)))
    places = spread(length, min(parts.bridge_steps, length - 1) + 1)
    noisy = blended(batch.region, _noised(batch.original, forward, places[-1], drawn("start")), batch.original)
    past, first = Past(), None
    for before, now in pairwise(reversed(places)):
        x0, gradient = _prediction(parts, networks, batch, noisy, before)
        direction, past = stabilized(parts, gradient, past)
        first = norms(direction) if first is None else first
        share = float(forward[now] / forward[before])
        noisy = (1 - share) * x0 + share * (noisy + scale * direction / first)
        noisy = blended(batch.region, noisy, batch.original)
    return noisy.clamp(-1, 1)


def _noised(original: Tensor, forward: Tensor, place: int, noise: Tensor) -> Tensor:
    """The mean of x_t between the original and noise (I2SB, Equation 11)."""
    backward = forward[-1] - (forward[place - 1] if place else 0)
    share = float(forward[place] / (forward[place] + backward))
    return (1 - share) * original + share * noise


def _prediction(parts: Parts, networks: Networks, batch: Batch, noisy: Tensor, place: int) -> tuple[Tensor, Tensor]:
    """x̂₀, and the gradient of the class term with respect to x_t."""
    models = networks.models
    assert models.classifier is not None
    assert batch.targets is not None
    level = models.denoiser.alphas_cumprod[place]
    with torch.enable_grad():
        leaf = noisy.detach().requires_grad_()
        noise = networks.predict(float(level.sqrt()) * leaf, place, batch.labels).noise
        x0 = leaf - float((1 / level - 1).sqrt()) * noise
        shown = stretched(x0)
    request = Asked(batch.targets, 0, parts.prepared, parts.loss)
    at_shown = networks.class_gradient(models.classifier, shown.detach(), request, None)
    return x0.detach(), torch.autograd.grad(shown, leaf, at_shown)[0]


def stretched(images: Tensor) -> Tensor:
    """Each image mapped so that its values reach from −1 to 1."""
    low, high = images.amin((1, 2, 3), keepdim=True), images.amax((1, 2, 3), keepdim=True)
    return 2 * (images - low) / (high - low) - 1
