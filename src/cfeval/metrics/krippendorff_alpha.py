"""Krippendorff's alpha: agreement of any number of raters, labels missing or not (Krippendorff 2019, Chapter 12)."""

from typing import Literal

import numpy as np

from cfeval.metrics.coincidences import Floats

Scale = Literal["nominal", "ordinal"]


def krippendorff_alpha(coincidences: Floats, scale: Scale) -> Floats:
    """α = 1 − D_o / D_e, at most 1; 0 is chance.

    Args:
        coincidences: (..., C, C), summed over items (`cfeval.metrics.coincidences`); labels in ascending order.
        scale: how far two labels are apart. nominal: 1 if they differ; ordinal: by the ranks between them, squared.

    Returns:
        (...); NaN where no item has two labels, or all labels are one and the same.
    """
    counts = coincidences.sum(axis=-1)
    total = counts.sum(axis=-1)
    apart = distances(counts, scale)
    observed = (coincidences * apart).sum(axis=(-2, -1))
    expected = (counts[..., :, None] * counts[..., None, :] * apart).sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1 - (total - 1) * observed / expected, np.nan)


def distances(counts: Floats, scale: Scale) -> Floats:
    """(..., C, C): the squared distance of every two labels.

    Args:
        counts: (..., C), how often each label was given; ordinal distances rest on it.
    """
    if scale == "nominal":
        return np.ones(counts.shape[-1]) - np.eye(counts.shape[-1])
    middle = counts.cumsum(axis=-1) - counts / 2
    found: Floats = (middle[..., :, None] - middle[..., None, :]) ** 2
    return found
