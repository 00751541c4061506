"""Fleiss' kappa: agreement beyond chance where every item has the same number of ratings (Fleiss 1971)."""

import numpy as np

from cfeval.metrics.coincidences import Floats


def fleiss_kappa(coincidences: Floats) -> Floats:
    """κ = (P − P_e) / (1 − P_e), in [−1, 1]; P_e from the labels of all raters together.

    Args:
        coincidences: (..., C, C), summed over items that have the same number of ratings each
            (`cfeval.metrics.coincidences`).

    Returns:
        (...); NaN where there is no item, or all labels are one and the same.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = coincidences / coincidences.sum(axis=(-2, -1), keepdims=True)
        observed = np.trace(shares, axis1=-2, axis2=-1)
        chance = (shares.sum(axis=-1) ** 2).sum(axis=-1)
        return np.where(chance < 1 - 1e-12, (observed - chance) / (1 - chance), np.nan)
