"""Minkowski distance D_p of original and counterfactual (DBVCE, Section 3.2)."""

import numpy as np
import numpy.typing as npt

from cfeval.metrics.coincidences import Floats


def lp_distance(originals: npt.ArrayLike, counterfactuals: npt.ArrayLike, p: float) -> Floats:
    """‖x − c(x)‖_p of each pair, (N,), 0 or more; the paper's D_p is their mean.

    It grows with the number of pixels: images of one size only can be compared.

    Args:
        originals, counterfactuals: (N, …); in the papers (N, 3, H, W) in [−1, 1].
        p: 1 or more; the paper has 1, 1.5 and 2.
    """
    one, other = (np.asarray(images, dtype=np.float64) for images in (originals, counterfactuals))
    difference = np.abs(one - other).reshape(len(one), -1)
    found: Floats = (difference**p).sum(axis=1) ** (1 / p)
    return found


def batch_lp_distance(distances: npt.ArrayLike, p: float) -> float:
    """The figure of the reference code of DBVCE: one norm over the whole batch of differences, 0 or more.

    A norm over all is that of the norms of its parts, so the batch itself is not needed. It grows with the number of
    images (N^(1/p) times, if they are alike), so groups of one size only can be compared.

    Args:
        distances: D_p of each pair, (N,).
        p: of these.
    """
    return float((np.asarray(distances, dtype=np.float64) ** p).sum() ** (1 / p))
