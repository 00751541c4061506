"""Two means from samples of their own, such as images of women and images of men; and one mean against a bar.

How much two differ: the clusters of each sample are drawn with replacement, one sample independently of the other
(Efron and Tibshirani 1993, Section 8.3); the interval is the percentile one.

Whether one is above or below a figure that was fixed beforehand: with few clusters the bootstrap is too short
(`cfeval.stats.intervals`). Below `FEW` the p-value is therefore exact: under the null hypothesis each cluster's excess
over the bar has either sign with equal chance (a randomization test; Edgington and Onghena 2007), and the interval is
Student's t over clusters (Cochran 1977, Section 9A). From `FEW` on both are the clustered bootstrap's. Zeros and ones
have Wilson's interval, with few clusters and with many, and from `FEW` on the p-value of the score test that this
interval inverts (`cfeval.stats.proportions`). Where all clusters have one mean, p is bounded by how likely it is that
so many would all be there, were the mean at the bar (Markov's inequality), or exact as above where values have no
bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, sqrt

import numpy as np

from cfeval.stats.estimates import (
    Estimate,
    Floats,
    Groups,
    described,
    has_clusters,
    ratio,
    ratio_variance,
    sums_and_counts,
)
from cfeval.stats.intervals import no_variation, resampled
from cfeval.stats.proportions import Share, constant_limits, share, wilson

# Clusters: with fewer the test is exact; 2^19 signs are still counted in a moment.
FEW = 20


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
    both = [sums_and_counts(values, names) for values, names in zip((first, second), groups, strict=True)]
    means = [float(ratio(totals.sum(axis=0))) for totals in both]
    n, value = len(first) + len(second), means[0] - means[1]
    if all(map(no_variation, both)):
        return Gap(Estimate(value, n=n, note="no variation: the bootstrap would have no width"), None)
    drawn = np.subtract(*(_draws(totals, resamples, seed + place) for place, totals in enumerate(both)))
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    method = described("percentile bootstrap", level, any(map(has_clusters, groups)))
    tail = min((drawn <= 1e-12).sum(), (drawn >= -1e-12).sum())
    p = float(min(1.0, 2 * (1 + tail) / (1 + resamples)))
    return Gap(Estimate(value, float(low), float(high), method, n), p)


def _draws(totals: Floats, resamples: int, seed: int) -> Floats:
    """Means of so many resamples of clusters."""
    if no_variation(totals):
        return np.full(resamples, float(ratio(totals.sum(axis=0))))
    drawn: Floats = resampled(totals, ratio, 0.95, resamples, seed).bootstrap_distribution
    return drawn


@dataclass(frozen=True)
class AgainstBar:
    """A mean, and whether it could be at the bar."""

    estimate: Estimate
    p: float | None
    """Two-sided, that the mean is at the bar. None: nothing can be said."""
    test: str
    clusters: int


def one_sample_test(
    values: Sequence[float],
    bar: float,
    level: float,
    resamples: int,
    seed: int,
    groups: Groups = None,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> AgainstBar:
    """Hold the mean of values against a bar.

    Args:
        values: at least one.
        bar: what the mean is held against.
        level: nominal coverage of the interval, in (0, 1).
        resamples, seed: of the bootstrap.
        groups: the cluster of each value.
        bounds: the least and greatest value possible; infinite where there is none.

    Raises:
        ValueError: there are no values, or one is out of bounds.
    """
    outside = [value for value in values if not bounds[0] <= value <= bounds[1]]
    if outside:
        raise ValueError(f"`values` must lie in [{bounds[0]:g}, {bounds[1]:g}], but got {outside[0]}")
    totals = sums_and_counts(values, groups)
    estimate = Estimate(float(ratio(totals.sum(axis=0))), n=len(values))
    clustered = has_clusters(groups)
    if no_variation(totals):
        return _constant(estimate, totals, bar, level, bounds, clustered)
    binary = bounds == (0.0, 1.0) and all(value in (0, 1) for value in values)
    if len(totals) < FEW:
        exact = _exact(estimate, totals, bar, level, bounds, clustered)
        return replace(exact, estimate=wilson(share(values, groups), level)) if binary else exact
    if binary and 0 < bar < 1:
        return _score(share(values, groups), bar, level, len(totals))
    drawn = resampled(totals, ratio, level, resamples, seed)
    limits = drawn.confidence_interval
    excess = drawn.bootstrap_distribution - bar
    tail = min((excess <= 1e-12).sum(), (excess >= -1e-12).sum())
    way = described("percentile bootstrap", level, clustered)
    return AgainstBar(
        Estimate(estimate.value, float(limits.low), float(limits.high), way, estimate.n),
        float(min(1.0, 2 * (1 + tail) / (1 + resamples))),
        "clustered bootstrap" if clustered else "bootstrap",
        len(totals),
    )


def _score(observed: Share, bar: float, level: float, clusters: int) -> AgainstBar:
    """The bar is outside Wilson's interval just where p is below 1 − level."""
    from scipy.special import ndtr

    z = abs(observed.value - bar) / sqrt(bar * (1 - bar) / observed.size)
    return AgainstBar(
        wilson(observed, level), float(2 * ndtr(-z)), f"{'clustered ' if observed.clustered else ''}score", clusters
    )


def _exact(
    estimate: Estimate, totals: Floats, bar: float, level: float, bounds: tuple[float, float], clustered: bool
) -> AgainstBar:
    from scipy.special import stdtrit  # scipy.stats, which has Student's t too, takes a second to import

    excess = totals[:, 0] - bar * totals[:, 1]
    sums = np.zeros(1)
    for cluster_excess in excess:
        sums = np.concatenate([sums + cluster_excess, sums - cluster_excess])
    p = float((np.abs(sums) >= abs(excess.sum()) - 1e-9).mean())
    mean, clusters = float(ratio(totals.sum(axis=0))), len(totals)
    width = float(stdtrit(clusters - 1, (1 + level) / 2)) * sqrt(ratio_variance(totals))
    low, high = max(bounds[0], mean - width), min(bounds[1], mean + width)
    way = described("Student t", level, clustered)
    return AgainstBar(Estimate(mean, low, high, way, estimate.n), p, "exact randomization", clusters)


def _constant(
    without_interval: Estimate, totals: Floats, bar: float, level: float, bounds: tuple[float, float], clustered: bool
) -> AgainstBar:
    mean, clusters = float(without_interval.value or 0.0), len(totals)
    note = "no variation: the bootstrap would have no width"
    if not all(map(isfinite, bounds)):
        p = 1.0 if abs(mean - bar) < 1e-12 else 2.0 ** (1 - clusters)
        return AgainstBar(Estimate(mean, n=without_interval.n, note=note), p, "exact randomization", clusters)
    low, high = constant_limits(mean, clusters, level, bounds)
    estimate = Estimate(mean, low, high, described("Wilson bound", level, clustered), without_interval.n, note)
    chance = 1.0
    if mean > bar:
        chance = (bar - bounds[0]) / (mean - bounds[0])
    elif mean < bar:
        chance = (bounds[1] - bar) / (bounds[1] - mean)
    return AgainstBar(estimate, min(1.0, 2 * chance**clusters), "Markov bound", clusters)
