"""A judge or a score against known truth: how often it errs, a share corrected for that, the area under the ROC curve.

The correction is that of Rogan and Gladen 1978; its interval is that of Lang and Reiczigel 2014, which carries the
uncertainty of sensitivity and specificity as well as that of the share. Samples that are clustered enter with their
effective sizes. There is a correction only where the lower limit of Youden's index lies above 0. Where that is rarely
so, for a judge right 6 times of 10 on 20 to 50 items of either truth, those that are let through have shown too good a
judge, and their intervals hold the truth in 70 to 90 % of studies; with 100 items, or a judge right 7 times of 10, in
93 % or more.

It was chosen by simulation, 1,000 studies for each of 144 cases (60 to 400 items, 20 to 400 of either truth,
sensitivity and specificity .55 to 1). For shares of .05 to .95, with 100 items of either truth or more and a judge
right at least 7 times of 10 it covers in 94 to 98 %, else in 94 to 100 %: too wide rather than too short where the
judge is nearly perfect or nearly useless. A bootstrap of all three samples is shorter, but falls to 72 % where the
judge made no error on the items of known truth.

The area under the ROC curve: does a higher score tell positive from negative items? (Mann and Whitney 1947) Its
interval: DeLong, DeLong and Clarke-Pearson 1988; clustered: Obuchowski 1997; built on the logit scale, so that it stays
in (0, 1). Where one kind always scores higher, that variance is 0 and the interval is Newcombe's (2006, method 5), with
clusters counted as items. In 1,500 simulated studies 95 % intervals held the area in 94 to 97 %: areas of .69 to .96,
continuous scores and zeros and ones, 40 to 400 single items, 60 to 120 images of 1 to 8 items.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cfeval.stats.estimates import Estimate, Floats, Groups, cluster_sums, described, difference, has_clusters
from cfeval.stats.intervals import Interval
from cfeval.stats.proportions import Share, share, wilson, wilson_limits


@dataclass(frozen=True)
class JudgeError:
    """A judge on items of known truth; None: there is no such item."""

    sensitivity: Share | None
    """The share of ones among the items that deserve a one."""
    specificity: Share | None
    """The share of zeros among the items that deserve a zero."""
    by_kind: str = ""
    """On which kinds of items it errs: `hedge 3 of 12, negation 1 of 20`."""


def judge_error(judged: Sequence[float], truth: Sequence[float], groups: Groups = None) -> JudgeError:
    """Compare verdicts with the truth; `cfeval.stats.proportions` gives intervals.

    Args:
        judged: what the judge said, 0 or 1; an item without a verdict has no place here.
        truth: what is so, 0 or 1.
        groups: the cluster (image) of each item.

    Raises:
        ValueError: a value is neither 0 nor 1.
    """

    odd = [value for value in (*judged, *truth) if value not in (0, 1)]
    if odd:
        raise ValueError(f"verdicts and truth must be 0 or 1, but got {odd[0]}")
    each = [str(index) for index in range(len(truth))] if groups is None else groups
    verdicts = list(zip(judged, truth, each, strict=True))

    def right(deserved: int) -> Share | None:
        among = [(float(verdict == deserved), group) for verdict, true, group in verdicts if true == deserved]
        return share([hit for hit, _ in among], [group for _, group in among]) if among else None

    return JudgeError(right(1), right(0))


def rogan_gladen(observed: Share, error: JudgeError, level: float) -> Estimate:
    """The share of items that deserve a one: (observed + specificity − 1) / (sensitivity + specificity − 1).

    Both the estimate and its limits are cut off at 0 and 1, and an estimate there has at least the interval of as many
    zeros, or ones, of a judge who never errs (Wilson): none has zero width. There is no estimate where the judge may be
    no better than chance: where the interval of `youden` reaches 0. Dividing by what may be 0 says nothing.

    Args:
        observed: the share of ones that the judge gave to items of unknown truth.
        error: of the same judge, on other items that are like these.
        level: nominal coverage, in (0, 1).
    """
    sensitivity, specificity = error.sensitivity, error.specificity
    if sensitivity is None or specificity is None:
        kind = "a one" if sensitivity is None else "a zero"
        return Estimate(None, n=observed.n, note=f"the judge was tried on no item that deserves {kind}")
    index = youden(sensitivity, specificity, level)
    if not (index.value and index.low and index.low > 0):
        shown, lowest = (f"{x:.2f}".replace("-", "−") for x in (index.value or 0.0, index.low or 0.0))
        note = "the judge is not shown to be better than chance: sensitivity + specificity − 1 is "
        return Estimate(None, n=observed.n, note=f"{note}{shown}, its lower limit {lowest}")
    whole = (observed.value + specificity.value - 1) / index.value
    value = _cut(whole)
    low, high = _limits(observed, sensitivity, specificity, level)
    if value in (0, 1):  # the interval may lie wholly beyond the end; a judge who never errs would leave this much open
        end = wilson_limits(value, observed.size, level)
        low, high = min(low, end[0]), max(high, end[1])
    method = described("Lang-Reiczigel", level, observed.clustered)
    estimate = Estimate(value, min(low, value), max(high, value), method, observed.n)
    if whole == value:
        return estimate
    return replace(
        estimate, note=f"cut off from {whole:.4f}: the judge errs more often than it should give such a share"
    )


def corrected_phi(
    rows: Sequence[tuple[str, float, float]], labelled: Sequence[tuple[str, float, float]], settings: Interval
) -> tuple[float | None, Estimate]:
    """φ of two bits, of which a judge gives the second with errors that do not depend on the first.

    Such errors shrink the covariance by Youden's index J, and the share of ones is Rogan and Gladen's: φ = cov / J /
    √(p (1 − p) q (1 − q)), p the share of the first bit and q the corrected share of the second. Percentile bootstrap
    over the clusters of both samples.

    Args:
        rows: cluster, first bit, and the judge's second bit, of items of unknown truth.
        labelled: cluster, truth and verdict of the same judge on other items that are like these.
        settings: level, resamples and seed.

    Returns:
        φ as judged, and corrected and cut off at −1 and 1; no figure where a bit never varies, or where most resamples
        have none.
    """
    first = _sums([(cluster, (1.0, x, y, x * y)) for cluster, x, y in rows])
    second = _sums([(c, (t * v, t * (1 - v), (1 - t) * v, (1 - t) * (1 - v))) for c, t, v in labelled])
    judged = _phi_of(first.sum(axis=0), np.array([1.0, 0.0, 0.0, 1.0]))
    whole = _phi_of(first.sum(axis=0), second.sum(axis=0))
    figure = None if np.isnan(judged) else float(judged)
    if np.isnan(whole):
        return figure, Estimate(None, n=len(rows), note="a bit never varies, or the judge is no better than chance")
    rng = np.random.default_rng(settings.seed)
    drawn = np.array([_phi_of(_redrawn(first, rng), _redrawn(second, rng)) for _ in range(settings.resamples)])
    drawn = drawn[~np.isnan(drawn)]
    if 2 * len(drawn) < settings.resamples:
        return figure, Estimate(None, n=len(rows), note="most resamples have no φ: too few pairs, or labels")
    tail = (1 - settings.level) / 2
    low, high = (float(limit) for limit in np.quantile(drawn, [tail, 1 - tail]))
    method = described("percentile bootstrap of pairs and labels", settings.level, len(first) < len(rows))
    return figure, Estimate(float(whole), min(low, float(whole)), max(high, float(whole)), method, len(rows))


def _phi_of(sums: Floats, cells: Floats) -> float:
    """Of sums over (1, x, y, xy) and over (true positives, false negatives, false positives, true negatives)."""
    (n, x, y, both), (hit, missed, false, spared) = sums, cells
    if not (n and hit + missed and false + spared):
        return float("nan")
    specificity = spared / (false + spared)
    index = hit / (hit + missed) + specificity - 1
    if index <= 0:
        return float("nan")
    p, q = x / n, (y / n + specificity - 1) / index
    room = p * (1 - p) * q * (1 - q)
    return float(np.clip((both / n - p * y / n) / index / np.sqrt(room), -1, 1)) if room > 1e-12 else float("nan")


def _sums(rows: Sequence[tuple[str, tuple[float, ...]]]) -> Floats:
    """(K, 4): the sums of each cluster."""
    sums: dict[str, Floats] = {}
    for cluster, row in rows:
        sums[cluster] = sums.get(cluster, np.zeros(4)) + np.asarray(row)
    return np.asarray(sorted(sums.values(), key=tuple)).reshape(-1, 4)


def _redrawn(totals: Floats, rng: np.random.Generator) -> Floats:
    drawn: Floats = totals[rng.integers(0, len(totals), len(totals))].sum(axis=0)
    return drawn


def youden(sensitivity: Share, specificity: Share, level: float) -> Estimate:
    """Youden's index, sensitivity + specificity − 1 (Youden 1950): 0 is chance, 1 is never wrong.

    The interval is that of a difference of two shares (Newcombe 1998, method 10), of the ones among the items that
    deserve a one and among the items that deserve a zero; it never has zero width.
    """
    false_alarms = replace(specificity, value=1 - specificity.value)
    return replace(difference(wilson(sensitivity, level), wilson(false_alarms, level)), method="")


def _limits(observed: Share, sensitivity: Share, specificity: Share, level: float) -> tuple[float, float]:
    """Lang and Reiczigel 2014, Section 2: ones and zeros are added to each sample, then a shifted Wald interval."""
    from scipy.special import ndtri

    z = ndtri((1 + level) / 2)
    (p, n), (se, n_se), (sp, n_sp) = (
        _with_more(which, extra) for which, extra in ((observed, z**2), (sensitivity, 2), (specificity, 2))
    )
    index = se + sp - 1
    if index <= 0:
        return 0.0, 1.0
    value = (p + sp - 1) / index
    of_se, of_sp = value * se * (1 - se) / n_se, (1 - value) * sp * (1 - sp) / n_sp
    middle = value + 2 * z**2 * (of_se - of_sp)
    half = z * np.sqrt(p * (1 - p) / n + value * of_se + (1 - value) * of_sp) / index
    return _cut(middle - half), _cut(middle + half)


def _cut(value: float) -> float:
    return min(1.0, max(0.0, float(value)))


def _with_more(observed: Share, extra: float) -> tuple[float, float]:
    """A share after `extra` items, half of them ones, were added; and its size then."""
    size = observed.size + extra
    return (observed.value * observed.size + extra / 2) / size, size


def auc(positive: Floats, negative: Floats) -> float:
    """The chance that a positive item scores higher than a negative one, ties one half; in [0, 1].

    Args:
        positive, negative: scores, (M,) and (N,), at least one each.
    """
    return float(placements(positive, negative)[0].mean())


def placements(positive: Floats, negative: Floats) -> tuple[Floats, Floats]:
    """For each item the share of the other kind that its score sets apart rightly; ties count one half.

    Args:
        positive, negative: scores, (M,) and (N,).

    Returns:
        (M,) and (N,), in [0, 1]; the mean of either is the AUC.
    """
    below = _share_below(positive, negative)
    return below, 1 - _share_below(negative, positive)


def _share_below(scores: Floats, others: Floats) -> Floats:
    """The share of `others` below each of the scores."""
    ordered = np.sort(others)
    below, upto = (np.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    shares: Floats = (below + upto) / 2 / len(ordered)
    return shares


def auc_interval(scores: Sequence[float], positive: Sequence[float], level: float, groups: Groups = None) -> Estimate:
    """How well scores tell positive items from negative ones, ties counting one half.

    Args:
        scores: higher for what is taken to be positive.
        positive: 1 for items that are, 0 for those that are not.
        level: nominal coverage, in (0, 1).
        groups: the cluster (image) of each item.
    """
    values, kind, n = np.asarray(scores, dtype=np.float64), np.asarray(positive) == 1, len(scores)
    if kind.all() or not kind.any():
        return Estimate(None, n=n, note="there are no two kinds of items to tell apart")
    right, wrong = placements(values[kind], values[~kind])
    value = float(np.sort(right).mean())
    excess = np.zeros((n, 4))
    excess[kind, 0], excess[kind, 1] = 1, right - value
    excess[~kind, 2], excess[~kind, 3] = 1, wrong - value
    totals, clustered = cluster_sums(excess, groups), has_clusters(groups)
    variance = _variance(totals)
    if variance > 0:
        method, limits = "DeLong (logit)", _logit_limits(value, variance, level)
    else:
        method, limits = "Newcombe", _newcombe_limits(value, totals, level)
    return Estimate(value, *limits, described(method, level, clustered), n)


def _variance(totals: Floats) -> float:
    """Obuchowski 1997; 0 where it cannot be had. (K, 4): count and excess of the placements, positive then negative."""
    (m, n), (of_m, of_n) = totals[:, [0, 2]].sum(axis=0), (totals[:, [0, 2]] > 0).sum(axis=0)
    if min(of_m, of_n) < 2:
        return 0.0
    squares = (
        of_m / (of_m - 1) * (totals[:, 1] ** 2).sum() / m**2 + of_n / (of_n - 1) * (totals[:, 3] ** 2).sum() / n**2
    )
    both = len(totals) / (len(totals) - 1) * (totals[:, 1] * totals[:, 3]).sum() / (m * n)
    return float(squares + 2 * both)


def _logit_limits(value: float, variance: float, level: float) -> tuple[float, float]:
    from scipy.special import expit, logit, ndtri

    half = ndtri((1 + level) / 2) * np.sqrt(variance) / (value * (1 - value))
    return float(expit(logit(value) - half)), float(expit(logit(value) + half))


def _newcombe_limits(value: float, totals: Floats, level: float) -> tuple[float, float]:
    """All areas that differ from the one found by no more than z of their own standard errors."""
    from scipy.optimize import brentq
    from scipy.special import ndtri

    positives, negatives = (totals[:, [0, 2]] > 0).sum(axis=0)
    z, more = ndtri((1 + level) / 2), (positives + negatives) / 2 - 1

    def beyond(area: float) -> float:
        spread = 1 + more * ((1 - area) / (2 - area) + area / (1 + area))
        return float((value - area) ** 2 - z**2 * area * (1 - area) * spread / (positives * negatives))

    near = 1e-9
    low = 0.0 if value == 0 else brentq(beyond, 0, value - near)
    high = 1.0 if value == 1 else brentq(beyond, value + near, 1)
    return float(low), float(high)
