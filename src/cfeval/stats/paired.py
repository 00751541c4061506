"""Two targets on the same items: how much they differ, whether that could be chance, what such a sample can show.

In 1,000 simulated studies the 95 % interval held the difference in 94 to 97 % with 30 to 120 single items (98 % for 30
items at a share of .1) and in 94 % with 60 to 120 images of 1 to 8 items, intraclass correlation .3; with 20 images in
93 %. Its p-value rejects a true null as often as these figures say; McNemar's mid-p holds the level better where images
are few.

McNemar's test, exact and mid-p: under the null hypothesis it makes no difference whose scores are whose, so each
cluster's sum of differences has either sign with equal chance. With single items that is the exact test (McNemar 1947);
with clusters it is the randomization test over clusters (Edgington and Onghena 2007). The distribution is worked out
whole, not drawn. The exact p is conservative, the mid-p is not and hardly ever exceeds its level (Fagerland, Lydersen
and Laake 2013). How often a true null was rejected at 5 % in 1,000 simulated studies, 20 to 120 images of 1 to 8 items,
intraclass correlation .3: exact 1 to 5 %, mid-p 3 to 6 %; McNemar's own mid-p, blind to images, 15 to 22 %.

The p-values of one table are adjusted by Holm's method (Holm 1979).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfeval.stats.bootstrap import bootstrap, no_variation, resampled
from cfeval.stats.estimates import Estimate, Floats, Groups, described, ratio, ratio_variance, sums_and_counts
from cfeval.stats.power import first_step, paired_size, smallest_difference
from cfeval.stats.proportions import constant_limits


@dataclass(frozen=True)
class McNemar:
    """Two-sided p-values."""

    exact: float
    mid: float


@dataclass(frozen=True)
class Comparison:
    """Two targets on the items that both have a score for."""

    difference: Estimate
    """First − second, in [−1, 1]."""
    p: float | None
    """Two-sided, from the same bootstrap: below 1 − level, give or take a resample, where the interval leaves out 0.
    None: no variation."""
    mcnemar: McNemar | None
    """None where the scores are not all 0 or 1."""
    discordance: float
    """Mean squared difference; of zeros and ones the share of items on which the targets differ."""
    detectable: float | None
    """The smallest difference that a sample of this size shows with the power asked for, if the targets differ on as
    many items as here, and after Holm's adjustment. None: it would show none, or nothing can be said."""


def compare(
    first: Sequence[float],
    second: Sequence[float],
    level: float,
    resamples: int,
    seed: int,
    groups: Groups = None,
    power: float = 0.8,
    comparisons: int = 1,
) -> Comparison:
    """Compare the scores, in [0, 1], of two targets on the same items, item by item.

    Args:
        first, second: a score an item each, in the same order of items.
        level: nominal coverage of the interval, in (0, 1).
        resamples, seed: of the bootstrap.
        groups: the cluster (image) of each item.
        power: of the smallest detectable difference, in [.5, 1).
        comparisons: that are adjusted together by Holm's method, this one among them.

    Raises:
        ValueError: there are no items, or not as many scores of one as of the other.
    """
    differences = [one - other for one, other in zip(first, second, strict=True)]
    totals = sums_and_counts(differences, groups)
    binary = all(value in (0, 1) for value in (*first, *second))
    differing = float(np.mean(np.sort(np.square(differences))))
    return Comparison(
        bootstrap(differences, level, resamples, seed, groups, bounds=(-1, 1)),
        _p_value(totals, resamples, seed),
        mcnemar(differences, groups) if binary else None,
        differing,
        _detectable(totals, differing, first_step(level, comparisons), power),
    )


def partly_paired(
    first: Sequence[float],
    second: Sequence[float],
    level: float,
    resamples: int,
    seed: int,
    groups: tuple[Sequence[str], Sequence[str]],
) -> Estimate:
    """The difference of two means over the same clusters, where an item may have either score alone; first − second.

    Clusters are drawn with replacement, each with all its scores; resamples without a score of either kind are left
    out. Where every item has both scores it is the difference of `compare`.

    Args:
        first, second: scores in [0, 1], at least one each.
        level: nominal coverage of the interval, in (0, 1).
        resamples, seed: of the bootstrap.
        groups: the cluster of each score, of either kind.

    Raises:
        ValueError: there are no scores of a kind.
    """
    clusters = {name: place for place, name in enumerate(sorted({*groups[0], *groups[1]}))}
    totals = np.zeros((len(clusters), 4))
    for column, (values, of) in enumerate(zip((first, second), groups, strict=True)):
        if not values:
            raise ValueError("each kind needs a score")
        for value, name in zip(values, of, strict=True):
            totals[clusters[name], 2 * column : 2 * column + 2] += value, 1

    def difference(sums: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            found: Floats = sums[..., 0] / sums[..., 1] - sums[..., 2] / sums[..., 3]
        return found

    value, n = float(difference(totals.sum(axis=0))), len(first) + len(second)
    clustered = len(clusters) < max(len(first), len(second))
    drawn = np.array([value])
    if len(clusters) > 1:
        drawn = resampled(totals, difference, level, resamples, seed).bootstrap_distribution
    drawn = drawn[np.isfinite(drawn)]
    if np.ptp(drawn) < 1e-12:
        limits = constant_limits(value, len(clusters), level, (-1.0, 1.0))
        note = "no variation: the bootstrap would have no width"
        return Estimate(value, *limits, described("Wilson bound", level, clustered), n, note)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    method = described("percentile bootstrap", level, clustered)
    return Estimate(value, min(float(low), value), max(float(high), value), method, n)


def _p_value(totals: Floats, resamples: int, seed: int) -> float | None:
    """The level at which the percentile interval begins to hold 0 (Davison and Hinkley 1997, Section 4.4)."""
    if no_variation(totals):
        return None if totals[:, 0].any() else 1.0
    drawn = resampled(totals, ratio, 0.95, resamples, seed).bootstrap_distribution
    tail = min((drawn <= 1e-12).sum(), (drawn >= -1e-12).sum())
    return float(min(1.0, 2 * (1 + tail) / (1 + resamples)))


def _detectable(totals: Floats, differing: float, level: float, power: float) -> float | None:
    """See `Comparison.detectable`; clustered items count as many as carry the same information."""
    if no_variation(totals):
        return None
    items = totals[:, 1].sum()
    independent = (differing - ratio(totals.sum(axis=0)) ** 2) / (items - 1)
    worth = items * independent / max(independent, ratio_variance(totals))
    return smallest_difference(lambda difference: paired_size(difference, differing, level, power), worth, differing)


def mcnemar(differences: Sequence[float], groups: Groups = None) -> McNemar:
    """Test that two targets score equally.

    Args:
        differences: first score − second score of each item, −1, 0 or 1.
        groups: the cluster (image) of each item.

    Raises:
        ValueError: a difference is none between zeros and ones, or there is none.
    """
    odd = [value for value in differences if value not in (-1, 0, 1)]
    if odd:
        raise ValueError(f"`differences` must be those of zeros and ones, but got {odd[0]}")
    sums = [abs(int(total)) for total in sums_and_counts(differences, groups)[:, 0] if total]
    if not sums:
        return McNemar(1.0, 1.0)
    chances, seen = _chances(sums), abs(int(sum(differences)))
    distance = np.abs(np.arange(len(chances)) - sum(sums))
    farther, equal = chances[distance > seen].sum(), chances[distance == seen].sum()
    return McNemar(min(1.0, float(farther + equal)), min(1.0, float(farther + equal / 2)))


def _chances(sums: Sequence[int]) -> Floats:
    """The chance of each total from −Σ to Σ when every sum has either sign."""
    from scipy.stats import binom

    found = np.ones(1)
    for size, count in sorted(Counter(sums).items()):
        step = np.zeros(2 * size * count + 1)
        step[:: 2 * size] = binom.pmf(np.arange(count + 1), count, 0.5)
        found = np.convolve(found, step)
    return found


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values, in the order given: reject where one is below the level, and the chance of any false rejection
    in the whole table stays below it.

    Args:
        p_values: None where there was no test; it stays None and counts for nothing.
    """
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - rank)))
        adjusted[place] = largest
    return adjusted
