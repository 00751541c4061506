"""Fréchet distance of two sets of features; with those of Inception-v3 it is FID (Heusel et al. 2017, Equation 6).

Another network's features make another figure, which must have a name of its own. It is biased upwards, the more the
fewer images there are (Chong and Forsyth 2020): read it beside the distance of two halves of the real images.
"""

import numpy as np
import numpy.typing as npt

from cfeval.metrics.coincidences import Floats


def frechet_distance(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """‖μ₁ − μ₂‖² + tr(Σ₁ + Σ₂ − 2 (Σ₁ Σ₂)^½), 0 or more, in squared units of the features.

    With A and B the centred features over √(N − 1), Σ₁ is AᵀA and Σ₂ is BᵀB, and the trace of the root is the sum of
    the singular values of ABᵀ. So no root of a matrix is taken that has none, as with fewer images than features,
    where the usual way leaves imaginary parts or adds a small constant.

    Args:
        first, second: (M, D) and (N, D), at least two rows each.

    Raises:
        ValueError: a set has fewer than two rows, which have no covariance, or the widths differ.
    """
    one, other = (np.asarray(rows, dtype=np.float64) for rows in (first, second))
    if min(len(one), len(other)) < 2 or one.shape[1:] != other.shape[1:]:
        raise ValueError(f"features must be (M, D) and (N, D) with M, N > 1, but got {one.shape} and {other.shape}")
    apart = float(((one.mean(axis=0) - other.mean(axis=0)) ** 2).sum())
    left, right = _spread(one), _spread(other)
    common = np.linalg.svd(left @ right.T, compute_uv=False).sum()
    return max(0.0, apart + float((left**2).sum() + (right**2).sum() - 2 * common))


def _spread(rows: Floats) -> Floats:
    """A, at most square, such that AᵀA is the covariance of the rows."""
    centered: Floats = (rows - rows.mean(axis=0)) / np.sqrt(len(rows) - 1)
    return np.linalg.qr(centered, mode="r") if len(centered) > centered.shape[1] else centered
