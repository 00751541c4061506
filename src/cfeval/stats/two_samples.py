"""Two means from samples of their own, such as images of women and images of men: how much they differ.

The clusters of each sample are drawn with replacement, one sample independently of the other (Efron and Tibshirani
1993, Section 8.3); the interval is the percentile one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfeval.stats.bootstrap import no_variation, resampled
from cfeval.stats.clusters import Floats, Groups, has_clusters, ratio, sums_and_counts
from cfeval.stats.estimate import Estimate, described


@dataclass(frozen=True)
class Gap:
    """How much two independent means differ."""

    difference: Estimate
    """First − second."""
    p: float | None
    """Two-sided, from the same bootstrap. None: nothing varies."""


def gap(
    first: Sequence[float],
    second: Sequence[float],
    level: float,
    resamples: int,
    seed: int,
    groups: tuple[Groups, Groups] = (None, None),
) -> Gap:
    """Compare the means of two independent samples.

    Args:
        first, second: a value an item, at least one each.
        level: nominal coverage of the interval, in (0, 1).
        resamples, seed: of the bootstrap; the samples draw from streams of their own.
        groups: the cluster of each item, of either sample; no cluster is in both.

    Raises:
        ValueError: a sample is empty.
    """
    totals = [sums_and_counts(values, of) for values, of in zip((first, second), groups, strict=True)]
    means = [float(ratio(of.sum(axis=0))) for of in totals]
    n, value = len(first) + len(second), means[0] - means[1]
    if all(no_variation(of) for of in totals):
        return Gap(Estimate(value, n=n, note="no variation: the bootstrap would have no width"), None)
    drawn = np.subtract(*(_draws(of, resamples, seed + place) for place, of in enumerate(totals)))
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    method = described("percentile bootstrap", level, any(map(has_clusters, groups)))
    tail = min((drawn <= 1e-12).sum(), (drawn >= -1e-12).sum())
    p = float(min(1.0, 2 * (1 + tail) / (1 + resamples)))
    return Gap(Estimate(value, float(low), float(high), method, n), p)


def _draws(totals: Floats, resamples: int, seed: int) -> Floats:
    """Means of so many resamples of clusters."""
    if no_variation(totals):
        return np.full(resamples, float(ratio(totals.sum(axis=0))))
    found: Floats = resampled(totals, ratio, 0.95, resamples, seed).bootstrap_distribution
    return found
