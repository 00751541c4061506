"""Coincidences of labels: how often two raters of one item gave this pair of labels (Krippendorff 2019, Chapter 12).

Fleiss' kappa and Krippendorff's alpha are functions of these counts, and counts of many items add up.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def coincidences(ratings: Sequence[Sequence[float | None]], labels: Sequence[float]) -> Floats:
    """(N, C, C): for each item the ordered pairs of labels from two raters, over (its raters − 1).

    An item that m raters labelled thus counts m in all; one with fewer than two labels counts nothing.

    Args:
        ratings: N items, each with the labels of its raters, None where one gave none.
        labels: the C labels there are.
    """
    place = {label: index for index, label in enumerate(labels)}
    counts = np.zeros((len(ratings), len(labels)))
    for item, row in enumerate(ratings):
        for label in row:
            if label is not None:
                counts[item, place[label]] += 1
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(len(labels))
    found: Floats = pairs / np.maximum(counts.sum(axis=1) - 1, 1)[:, None, None]
    return found
