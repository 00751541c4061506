"""Bootstrap over clusters: percentile (Efron 1979; EDCT-Bench 2026) and BCa (Efron 1987).

Clusters (images) are drawn with replacement, each with all its items (Davison and Hinkley 1997, Section 3.8; Field and
Welsh 2007); BCa takes its acceleration from leaving one cluster out at a time.

Coverage of 95 % intervals of a share in 2,000 simulated studies, percentile / BCa:

- single items: 95 / 96 % at .5 from n = 30; at .05 93 / 97 % with n = 120, 96 / 97 % with n = 400;
- images with 1 to 8 items, intraclass correlation .3: at .5 93 / 94 % with 30 images, 94 / 95 % with 120; at .2 92 /
  93 % with 30, 94 / 94 % with 120; at .05 91 / 92 % with 120, 93 / 94 % with 400; and 87 / 90 % with 120 if the
  correlation is .7.

So they are too short where images or ones are few. There `cfeval.stats.proportions` does as well or better. The limits
of BCa, which need not hold the mean, are widened to it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal
from warnings import catch_warnings

import numpy as np

from cfeval.stats.estimates import Estimate, Floats, Groups, described, has_clusters, ratio, sums_and_counts
from cfeval.stats.proportions import constant_limits

Kind = Literal["percentile", "BCa"]
_DRAWS_AT_ONCE = 5_000_000


def bootstrap(
    values: Sequence[float],
    level: float,
    resamples: int,
    seed: int,
    groups: Groups = None,
    kind: Kind = "percentile",
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Estimate:
    """The mean over all items with its interval. The order of the values does not matter.

    Args:
        values: at least one value.
        level: nominal coverage, in (0, 1).
        resamples: samples drawn with replacement.
        seed: seed of the drawing.
        groups: the cluster (image) of each value.
        bounds: the least and the greatest value possible; where nothing varies the interval rests on them
            (`cfeval.stats.proportions`).

    Raises:
        ValueError: a value is out of bounds, or there is none.
    """
    outside = [value for value in values if not bounds[0] <= value <= bounds[1]]
    if outside:
        raise ValueError(f"`values` must lie in [{bounds[0]:g}, {bounds[1]:g}], but got {outside[0]}")
    totals = sums_and_counts(values, groups)
    mean, n, clustered = float(ratio(totals.sum(axis=0))), len(values), has_clusters(groups)
    if no_variation(totals):
        limits = constant_limits(mean, len(totals), level, bounds)
        method = described("Wilson bound", level, clustered)
        return Estimate(mean, *limits, method, n, "no variation: the bootstrap would have no width")
    drawn = resampled(totals, ratio, level, resamples, seed)
    low, high = _bca(totals, drawn.bootstrap_distribution, level) if kind == "BCa" else drawn.confidence_interval
    limits = min(float(low), mean), max(float(high), mean)
    return Estimate(mean, *limits, described(f"{kind} bootstrap", level, clustered), n)


def no_variation(totals: Floats) -> bool:
    """Whether all clusters have the same mean, as a single one has.

    Args:
        totals: (K, 2), sums and counts by cluster.
    """
    return bool(np.ptp(ratio(totals)) < 1e-12)


def resampled(totals: Floats, statistic: Callable[[Floats], Floats], level: float, resamples: int, seed: int) -> Any:
    """scipy's percentile bootstrap of a statistic of sums over clusters: `confidence_interval` and
    `bootstrap_distribution`.

    Args:
        totals: (K, q), a row of sums a cluster; K ≥ 2.
        statistic: from sums over all clusters, shape (..., q), to (...).
    """
    from scipy.stats import DegenerateDataWarning  # slow to load, and most commands need none of it
    from scipy.stats import bootstrap as scipy_bootstrap

    columns = np.ascontiguousarray(totals.T)

    def of(drawn: Any, axis: int) -> Floats:
        return statistic(np.stack([column[drawn].sum(axis=axis) for column in columns], axis=-1))

    with catch_warnings(action="ignore", category=DegenerateDataWarning):  # callers see to resamples without a value
        return scipy_bootstrap(
            (np.arange(len(totals)),),
            of,
            n_resamples=resamples,
            batch=max(1, _DRAWS_AT_ONCE // totals.size),
            confidence_level=level,
            method="percentile",
            vectorized=True,
            rng=np.random.default_rng(seed),
        )


def _bca(totals: Floats, drawn: Floats, level: float) -> Floats:
    """Efron 1987, Section 6. Sums without one cluster are told from the whole: scipy would add each of them up anew."""
    from scipy.special import ndtr, ndtri

    whole = totals.sum(axis=0)
    bias = ndtri(((drawn < ratio(whole)).mean() + (drawn <= ratio(whole)).mean()) / 2)
    without = ratio(whole - totals)
    excess = without.mean() - without
    acceleration = (excess**3).sum() / (6 * (excess**2).sum() ** 1.5)
    ends = bias + ndtri([(1 - level) / 2, (1 + level) / 2])
    found: Floats = np.quantile(drawn, ndtr(bias + ends / (1 - acceleration * ends)))
    return found
