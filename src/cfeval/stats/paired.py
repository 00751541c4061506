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

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from cfeval.stats.estimates import Estimate, Floats, Groups, described, ratio, ratio_variance, sums_and_counts
from cfeval.stats.intervals import resampled
from cfeval.stats.power import first_step, paired_size, smallest_difference
from cfeval.stats.proportions import constant_limits

# Clusters drawn before any is added up: 50 MB.
_DRAWS_AT_ONCE = 2_000_000
# Pairs whose resamples are held at the same time: 16 MB for 2,000 resamples.
_PAIRS_AT_ONCE = 1000


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
    clusters: int
    """Different images of the items."""


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
    """Compare the scores, in [0, 1], of two targets on the same items, item by item: `compare_all` of two.

    Raises:
        ValueError: there are no items, or not as many scores of one as of the other.
    """
    if len(first) != len(second):
        raise ValueError(f"`second` must have a score for each of the {len(first)} items, but got {len(second)}")
    scores = np.asarray([first, second], dtype=np.float64)
    return compare_all(scores, [(0, 1)], level, resamples, seed, groups, power, comparisons)[0]


def compare_all(
    scores: Floats,
    pairs: Sequence[tuple[int, int]],
    level: float,
    resamples: int,
    seed: int,
    groups: Groups = None,
    power: float = 0.8,
    comparisons: int | None = None,
) -> list[Comparison]:
    """Compare pairs of targets, each on the items that both have a score for, item by item.

    All pairs with as many clusters share one set of resamples, so that a pair costs no drawing of its own.

    Args:
        scores: (M, N), a row a target and a column an item, in [0, 1]; NaN where a target has no score.
        pairs: the rows of each two targets.
        level: nominal coverage of the interval, in (0, 1).
        resamples, seed: of the bootstrap.
        groups: the cluster (image) of each item.
        power: of the smallest detectable difference, in [.5, 1).
        comparisons: that are adjusted together by Holm's method; None: these pairs.

    Raises:
        ValueError: a score is out of bounds, or two targets have no item in common.
    """
    if ((scores < 0) | (scores > 1)).any():
        raise ValueError("`scores` must lie in [0, 1]")
    if not pairs:
        return []
    clusters = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    if clusters is not None and len(clusters) == clusters.max(initial=-1) + 1:
        clusters = None
    strict = first_step(level, len(pairs) if comparisons is None else comparisons)
    differences = [_differences(scores[first], scores[second], clusters) for first, second in pairs]
    drawn = _intervals(differences, level, resamples, seed)
    return [_compared(each, drawn.get(place), level, strict, power) for place, each in enumerate(differences)]


@dataclass(frozen=True)
class _Differences:
    """The differences between two targets.

    Attributes:
        totals: (L, 2), the different sums and counts of a cluster's differences, in ascending order.
        ends: (L + 1,), where each begins among all clusters in that order, and where the last ends.
        clustered: whether some items share a cluster.
        binary: whether all scores are 0 or 1.
        squared: mean squared difference of an item.
    """

    totals: Floats
    ends: npt.NDArray[np.int64]
    clustered: bool
    binary: bool
    squared: float

    @property
    def times(self) -> npt.NDArray[np.int64]:
        """(L,): how many clusters have each."""
        return np.diff(self.ends)

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return int(self.ends[-1])

    @property
    def whole(self) -> Floats:
        """(2,): sum and count of all."""
        whole: Floats = (self.times[:, np.newaxis] * self.totals).sum(axis=0)
        return whole

    @property
    def constant(self) -> bool:
        """Whether all clusters have the same mean, as a single one has."""
        return bool(np.ptp(ratio(self.totals)) < 1e-12)


def _differences(first: Floats, second: Floats, clusters: npt.NDArray[np.int64] | None) -> _Differences:
    both = ~(np.isnan(first) | np.isnan(second))
    first_scores, second_scores = first[both], second[both]
    if not first_scores.size:
        raise ValueError("two targets must have an item in common to be compared")
    by_item = first_scores - second_scores
    values, counts = np.unique(by_item, return_counts=True)
    totals = np.stack([values, np.ones(len(values))], axis=-1)
    clustered = False
    if clusters is not None:
        sums, sizes = _by_cluster(by_item, clusters[both])
        clustered = len(sums) < len(by_item)
        totals, counts = np.unique(np.stack([sums, sizes], axis=-1), axis=0, return_counts=True)
    binary = bool(np.isin(first_scores, (0, 1)).all() and np.isin(second_scores, (0, 1)).all())
    return _Differences(totals, np.concatenate([[0], np.cumsum(counts)]), clustered, binary, float(np.mean(by_item**2)))


def _by_cluster(by_item: Floats, clusters: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Sums and counts of the clusters that have an item; added in ascending order, so that no order of items tells."""
    order = np.argsort(by_item, kind="stable")
    sizes = np.bincount(clusters).astype(np.float64)
    sums = np.bincount(clusters[order], weights=by_item[order]).astype(np.float64)
    return sums[sizes > 0], sizes[sizes > 0]


def _intervals(
    differences: Sequence[_Differences], level: float, resamples: int, seed: int
) -> dict[int, tuple[tuple[float, float], float]]:
    """Percentile limits and p-value of each that varies, by its place.

    The p-value is the level at which the percentile interval begins to hold 0 (Davison and Hinkley 1997, Section 4.4).
    """
    places: dict[int, list[int]] = defaultdict(list)
    for place, difference in enumerate(differences):
        if not difference.constant:
            places[difference.clusters].append(place)
    intervals: dict[int, tuple[tuple[float, float], float]] = {}
    for clusters, alike in places.items():
        for start in range(0, len(alike), _PAIRS_AT_ONCE):
            some = alike[start : start + _PAIRS_AT_ONCE]
            drawn = _resampled([differences[place] for place in some], clusters, resamples, seed)
            limits = np.percentile(drawn, [50 * (1 - level), 50 * (1 + level)], axis=1).T
            tails = np.minimum((drawn <= 1e-12).sum(axis=1), (drawn >= -1e-12).sum(axis=1))
            p = np.minimum(1.0, 2 * (1 + tails) / (1 + resamples))
            intervals |= {
                place: ((float(low), float(high)), float(each))
                for place, (low, high), each in zip(some, limits, p, strict=True)
            }
    return intervals


def _resampled(differences: Sequence[_Differences], clusters: int, resamples: int, seed: int) -> Floats:
    """(P, resamples): the mean difference of each pair in each resample of so many clusters.

    Which clusters a resample draws depends on their number alone, so it is drawn once for all pairs.
    """
    means = np.empty((len(differences), resamples))
    start = 0
    for times in _drawn(clusters, resamples, seed):
        stop = start + times.shape[1]
        for place, difference in enumerate(differences):
            drawn = np.diff(times[difference.ends], axis=0)
            # Not by matrix product: the order in which BLAS adds up is the machine's.
            sums = (difference.totals[:, :, np.newaxis] * drawn[:, np.newaxis]).sum(axis=0)
            means[place, start:stop] = sums[0] / sums[1]
        start = stop
    return means


def _drawn(clusters: int, resamples: int, seed: int) -> Iterator[Floats]:
    """(clusters + 1, some): how often resamples drew one of the first so many clusters; all resamples in turn."""
    rng, at_once = np.random.default_rng(seed), max(1, _DRAWS_AT_ONCE // clusters)
    for start in range(0, resamples, at_once):
        some = min(at_once, resamples - start)
        drawn = rng.integers(clusters, size=(some, clusters))
        drawn += clusters * np.arange(some)[:, np.newaxis]
        times = np.bincount(drawn.ravel(), minlength=some * clusters).reshape(some, clusters)
        upto = np.zeros((clusters + 1, some))
        np.cumsum(times.T, axis=0, out=upto[1:])
        yield upto


def _compared(
    differences: _Differences,
    drawn: tuple[tuple[float, float], float] | None,
    level: float,
    strict: float,
    power: float,
) -> Comparison:
    """One comparison; `drawn`: its percentile limits and p-value, None where nothing varies."""
    mean, n = float(ratio(differences.whole)), int(differences.whole[1])
    p: float | None
    if drawn is None:
        method = described("Wilson bound", level, differences.clustered)
        ends = constant_limits(mean, differences.clusters, level, (-1, 1))
        note = "no variation: the bootstrap would have no width"
        difference, p = Estimate(mean, *ends, method, n, note), None if differences.totals[:, 0].any() else 1.0
    else:
        limits, p = drawn
        method = described("percentile bootstrap", level, differences.clustered)
        difference = Estimate(mean, min(limits[0], mean), max(limits[1], mean), method, n)
    return Comparison(
        difference,
        p,
        _mcnemar(differences.totals[:, 0], differences.times) if differences.binary else None,
        differences.squared,
        _detectable(differences, strict, power),
        differences.clusters,
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
    for column, (values, names) in enumerate(zip((first, second), groups, strict=True)):
        if not values:
            raise ValueError("each kind needs a score")
        for value, name in zip(values, names, strict=True):
            totals[clusters[name], 2 * column : 2 * column + 2] += value, 1

    def difference(sums: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            difference_of_means: Floats = sums[..., 0] / sums[..., 1] - sums[..., 2] / sums[..., 3]
        return difference_of_means

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


def _detectable(differences: _Differences, level: float, power: float) -> float | None:
    """See `Comparison.detectable`; clustered items count as many as carry the same information."""
    if differences.constant:
        return None
    items, mean = differences.whole[1], ratio(differences.whole)
    independent = (differences.squared - mean**2) / (items - 1)
    variance = ratio_variance(np.repeat(differences.totals, differences.times, axis=0))
    worth = items * independent / max(independent, variance)
    return _shown(float(worth), differences.squared, level, power)


@lru_cache(maxsize=4096)
def _shown(items: float, differing: float, level: float, power: float) -> float | None:
    return smallest_difference(lambda difference: paired_size(difference, differing, level, power), items, differing)


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
    totals, counts = np.unique(sums_and_counts(differences, groups)[:, 0], return_counts=True)
    return _mcnemar(totals, counts)


def _mcnemar(totals: Floats, times: npt.NDArray[np.int64]) -> McNemar:
    """The test from the sums of differences that clusters have, and how many have each."""
    sizes: Counter[int] = Counter()
    for total, count in zip(totals, times, strict=True):
        sizes[abs(int(total))] += int(count)
    del sizes[0]
    if not sizes:
        return McNemar(1.0, 1.0)
    return _two_sided(tuple(sorted(sizes.items())), abs(int(totals @ times)))


@lru_cache(maxsize=4096)
def _two_sided(sizes: tuple[tuple[int, int], ...], seen: int) -> McNemar:
    chances, most = _chances(sizes), sum(size * count for size, count in sizes)
    distance = np.abs(np.arange(len(chances)) - most)
    farther, equal = chances[distance > seen].sum(), chances[distance == seen].sum()
    return McNemar(min(1.0, float(farther + equal)), min(1.0, float(farther + equal / 2)))


def _chances(sizes: Sequence[tuple[int, int]]) -> Floats:
    """The chance of each total from −Σ to Σ when every sum has either sign; `sizes`: sums, and how many have each."""
    from scipy.stats import binom

    chances = np.ones(1)
    for size, count in sizes:
        step = np.zeros(2 * size * count + 1)
        step[:: 2 * size] = binom.pmf(np.arange(count + 1), count, 0.5)
        chances = np.convolve(chances, step)
    return chances


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
