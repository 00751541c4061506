"""The region in which an image may change from the start: where a prediction comes from, or as the user says.

Region-constrained counterfactuals (RCSB, Sobieski et al. 2025, Section 3): the rest of the image cannot change, so what
flips the classifier is known to lie within. The automatic region takes integrated gradients (Sundararajan et al. 2017)
of the class that the classifier sees in the original, sums their sizes in square cells, and keeps the largest cells.

Variables and symbols: original x, black baseline x' = −1, path points α_k and weights w_k of Gauss-Legendre's rule,
attribution Σ_c (x − x')_c Σ_k w_k ∂f/∂x_c (x' + α_k (x − x')), whose sum over all pixels is f(x) − f(x').
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, interpolate

from cfeval.core.errors import InputError, ParamsError
from cfeval.vce.interfaces import Classifier
from cfeval.vce.method import PATH_POINTS, Parts
from cfeval.vce.sampler.batch import Batch
from cfeval.vce.sampler.networks import Asked, BatchBudget, Networks, mapped

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
        return _checked(given, batch.original)
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


def _checked(given: Tensor | None, original: Tensor) -> Tensor:
    if given is None:
        raise InputError("mask 'given': there is no mask for the images; give one for each, or use mask 'attribution'")
    wanted = (len(original), 1, *original.shape[2:])
    if tuple(given.shape) != wanted:
        raise InputError(f"mask 'given': the masks are {tuple(given.shape)}, but the images want {wanted}")
    if not bool(((given == 0) | (given == 1)).all()):
        raise InputError("mask 'given': masks hold 0 and 1 alone")
    if not bool(given.flatten(1).any(1).all()):
        raise InputError("mask 'given': a mask lets nothing change; mark at least one pixel")
    return given.to(original)
