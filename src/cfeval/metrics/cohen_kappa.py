"""Cohen's kappa: agreement of two raters beyond chance (Cohen 1960)."""

import numpy as np

from cfeval.metrics.coincidences import Floats


def cohen_kappa(table: Floats) -> Floats:
    """κ = (p_o − p_e) / (1 − p_e), in [−1, 1]; p_e from each rater's own margins.

    Args:
        table: (..., C, C), how many items the first rater gave the row's label and the second the column's.

    Returns:
        (...); NaN where there is no item, or both raters gave one and the same label throughout.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = table / table.sum(axis=(-2, -1), keepdims=True)
        observed = np.trace(shares, axis1=-2, axis2=-1)
        chance = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
        return np.where(chance < 1 - 1e-12, (observed - chance) / (1 - chance), np.nan)
