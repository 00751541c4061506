"""A figure with its interval: what every function of this package that estimates something returns.

Items that belong together, such as those about one image, are no independent evidence: everything here that is
clustered rests on sums per cluster. They come in an order that depends on the data alone, so a result is the same
however the items were cut into files and whatever their groups are called.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

DECIMALS = 4
"""What tables show; figures rounded to it are the same on any machine."""
Groups = Sequence[str] | None
"""The group of each item; None: each item is its own."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A figure, the interval around it, and how that came about. What cannot be told is None, never 0 or 1."""

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = ""
    """How the interval was computed, and its nominal coverage: `clustered percentile bootstrap 95 %`. It is the method
    that was really used, which may differ from the one that was asked for."""
    n: int = 0
    """How many items it rests on."""
    note: str = ""
    """What a reader must know: why there is no figure or no interval, or what it leaves out."""

    def rounded(self) -> "Estimate":
        """The same with figures of `DECIMALS` decimals."""
        value, low, high = (None if x is None else round(x, DECIMALS) + 0.0 for x in (self.value, self.low, self.high))
        return replace(self, value=value, low=low, high=high)


def described(method: str, level: float, clustered: bool = False) -> str:
    """A method's name for a table: `clustered percentile bootstrap 95 %`."""
    return f"{'clustered ' if clustered else ''}{method} {level * 100:g} %"


def cluster_sums(rows: npt.ArrayLike, groups: Groups = None) -> Floats:
    """Sums of the items' rows by cluster.

    Args:
        rows: (N, q), a row an item.
        groups: N names.

    Returns:
        (K, q), a row a cluster, in ascending order.

    Raises:
        ValueError: there are no rows, or not as many groups as rows.
    """
    data = np.asarray(rows, dtype=np.float64)
    if not len(data):
        raise ValueError("there must be at least one item: no interval can be given")
    if groups is None:
        return _ascending(data)
    if len(groups) != len(data):
        raise ValueError(f"`groups` must name a group for each of the {len(data)} items, but got {len(groups)}")
    of, order = np.unique(np.asarray(groups), return_inverse=True)[1], np.lexsort(data.T[::-1])
    sums = np.zeros((of.max() + 1, data.shape[1]))
    np.add.at(sums, of[order], data[order])
    return _ascending(sums)


def sums_and_counts(values: Sequence[float], groups: Groups = None) -> Floats:
    """(K, 2): the sum of the values of each cluster, and how many they are."""
    return cluster_sums([(value, 1.0) for value in values], groups)


def ratio(totals: Floats) -> Floats:
    """The mean over all items, from sums and counts: shape (..., 2) to (...)."""
    found: Floats = totals[..., 0] / totals[..., 1]
    return found


def has_clusters(groups: Groups) -> bool:
    """Whether some items share a group."""
    return groups is not None and len(set(groups)) < len(groups)


def ratio_variance(totals: Floats) -> float:
    """Variance of the mean over all items, by linearization (Cochran 1977, Section 9A; the sandwich estimator).

    Args:
        totals: (K, 2), sums and counts by cluster; K ≥ 2.
    """
    clusters, mean = len(totals), totals[:, 0].sum() / totals[:, 1].sum()
    excess = totals[:, 0] - mean * totals[:, 1]
    return float(clusters / (clusters - 1) * (excess**2).sum() / totals[:, 1].sum() ** 2)


def _ascending(rows: Floats) -> Floats:
    return rows[np.lexsort(rows.T[::-1])]
