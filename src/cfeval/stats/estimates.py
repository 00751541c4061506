"""A figure with its interval, which every estimate of this package is; and figures that follow from others.

Items that belong together, such as those about one image, are no independent evidence: everything here that is
clustered rests on sums per cluster. They come in an order that depends on the data alone, so a result is the same
however the items were cut into files and whatever their groups are called.

The difference and the product of two rates, and a rate beyond a floor, rest on the limits of the rates that they are
made of (MOVER, the method of variance estimates recovery: Zou and Donner 2008), so that no interval has zero width and
none is symmetric where the rates are near 0 or 1. For a difference of two shares with Wilson's limits this is
Newcombe's hybrid score interval (Newcombe 1998, method 10).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot

import numpy as np
import numpy.typing as npt

# What tables show; figures rounded to it are the same on any machine.
DECIMALS = 4
# The group of each item; None: each item is its own.
Groups = Sequence[str] | None
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
    cluster, order = np.unique(np.asarray(groups), return_inverse=True)[1], np.lexsort(data.T[::-1])
    sums = np.zeros((cluster.max() + 1, data.shape[1]))
    np.add.at(sums, cluster[order], data[order])
    return _ascending(sums)


def sums_and_counts(values: Sequence[float], groups: Groups = None) -> Floats:
    """(K, 2): the sum of the values of each cluster, and how many they are."""
    return cluster_sums([(value, 1.0) for value in values], groups)


def ratio(totals: Floats) -> Floats:
    """The mean over all items, from sums and counts: shape (..., 2) to (...)."""
    mean: Floats = totals[..., 0] / totals[..., 1]
    return mean


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


def exact(value: float) -> Estimate:
    """A rate that is known exactly."""
    return Estimate(value, value, value, "known")


# The ceiling of a measurement that misses nothing.
FULL = exact(1.0)


def difference(first: Estimate, second: Estimate) -> Estimate:
    """`first` − `second`, of rates that were measured independently; in [−1, 1]. None where either has no figure."""
    if _lacks_value(first, second):
        return Estimate(None, n=min(first.n, second.n), note=first.note or second.note)
    p, low, high = _value_and_limits(first)
    q, least, most = _value_and_limits(second)
    value = p - q
    return Estimate(value, value - hypot(p - low, most - q), value + hypot(high - p, q - least), first.method, first.n)


def product(first: Estimate, second: Estimate) -> Estimate:
    """`first` · `second`, both at least 0, such as a share and a share of that share."""
    if _lacks_value(first, second):
        return Estimate(None, n=min(first.n, second.n), note=first.note or second.note)
    p, low, high = _value_and_limits(first)
    q, least, most = _value_and_limits(second)
    value = p * q
    down, up = hypot(p * (q - least), q * (p - low)), hypot(p * (most - q), q * (high - p))
    return Estimate(value, value - down, value + up, first.method, first.n)


def beyond(rate: Estimate, floor: Estimate, ceiling: Estimate = FULL, made: float = 1.0) -> Estimate:
    """How far a rate lies above its floor, as a share of how far it could: (rate − floor) / ((ceiling − floor) · made).

    It is a share, so figure and limits end at 0 and 1: by chance a rate comes out below its floor, or above what the
    ceiling lets one expect, and near a high floor that would be a share of less than −1.

    Args:
        rate: what was measured.
        floor: the same where nothing is there to be measured, as the share of answers that change although nothing was
            changed.
        ceiling: what would be measured if everything were there: the sensitivity of what measures, in (0, 1]. Each
            limit is divided by that limit of the ceiling which widens the interval.
        made: the share of cases in which there was something to measure, in (0, 1]: 1 less the share of edits that
            failed unseen.
    """
    excess = difference(rate, floor)
    if excess.value is None or floor.value is None:
        return excess
    middle, *ends = (max(_LEAST, limit - (floor.value or 0.0)) * made for limit in _value_and_limits(ceiling))
    low, high = _value_and_limits(excess)[1:]
    low, value, high = (_share(*pair) for pair in ((low, max(ends)), (excess.value, middle), (high, min(ends))))
    return replace(excess, value=value, low=low, high=high)


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole))


# The least room between floor and ceiling that is divided by; with less nothing can be told.
_LEAST = 0.05


def _lacks_value(*rates: Estimate) -> bool:
    return any(rate.value is None for rate in rates)


def _value_and_limits(rate: Estimate) -> tuple[float, float, float]:
    value = rate.value if rate.value is not None else 0.0
    return value, 0.0 if rate.low is None else rate.low, 1.0 if rate.high is None else rate.high
