"""Agreement of raters with intervals: people or judges, two or more.

Cohen's kappa is agreement of two raters beyond chance (Cohen 1960), Fleiss' kappa that of several where every item has
the same number of ratings (Fleiss 1971), Krippendorff's alpha that of any number, labels missing or not (Krippendorff
2019, Chapter 12). The last two are functions of coincidences, how often two raters of one item gave this pair of
labels; and coincidences of many items add up.

Intervals of kappa and alpha come from a percentile bootstrap over clusters of items; the raw rate has Wilson's, as in
the human study of EDCT-Bench 2026. In 1,500 simulated studies 95 % intervals of kappa held it in 94 to 95 %, with 50 to
300 single items and with 60 to 120 images of 1 to 8 items.

Variance components say how much of the scores' variance comes from what: item, writer, editor, judge, re-sampling.

Variance components of a crossed design, complete or not, by MIVQUE(0): squares of the sums at each factor's levels are
set equal to their expectations (Rao 1972; Hartley, Rao and LaMotte 1978; the default of SAS PROC VARCOMP). In a full
design these are the estimates of the analysis of variance. They are unbiased whatever the scores' distribution, so
zeros and ones are fine: the components are then those of the linear scale.

A component from few levels is as uncertain as any variance of few values: with two judges it is half the squared
difference of their means, less what is noise. It describes these two, and is a poor guide to others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cfeval.stats.estimates import Estimate, Floats, Groups, cluster_sums, described, has_clusters
from cfeval.stats.intervals import resampled
from cfeval.stats.proportions import share, wilson

Scale = Literal["nominal", "ordinal"]
# A row an item, a column a rater; None: this rater gave the item no label. What is invalid or cannot be assessed is no
# label. Labels are numbers, in their order where it matters.
Ratings = Sequence[Sequence[float | None]]


def coincidence_matrix(ratings: Sequence[Sequence[float | None]], labels: Sequence[float]) -> Floats:
    """(N, C, C): for each item the ordered pairs of labels from two raters, over (its raters − 1).

    An item that m raters labelled thus counts m in all; one with fewer than two labels counts nothing.

    Args:
        ratings: N items, each with the labels of its raters, None where one gave none.
        labels: the C labels there are.
    """
    place = {label: index for index, label in enumerate(labels)}
    counts = np.zeros((len(ratings), len(labels)))
    for item, row in enumerate(ratings):
        for label in row:
            if label is not None:
                counts[item, place[label]] += 1
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(len(labels))
    matrix: Floats = pairs / np.maximum(counts.sum(axis=1) - 1, 1)[:, None, None]
    return matrix


def cohen_kappa(table: Floats) -> Floats:
    """κ = (p_o − p_e) / (1 − p_e), in [−1, 1]; p_e from each rater's own margins.

    Args:
        table: (..., C, C), how many items the first rater gave the row's label and the second the column's.

    Returns:
        (...); NaN where there is no item, or both raters gave one and the same label throughout.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = table / table.sum(axis=(-2, -1), keepdims=True)
        observed = np.trace(shares, axis1=-2, axis2=-1)
        chance = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
        return np.where(chance < 1 - 1e-12, (observed - chance) / (1 - chance), np.nan)


def fleiss_kappa(coincidences: Floats) -> Floats:
    """κ = (P − P_e) / (1 − P_e), in [−1, 1]; P_e from the labels of all raters together.

    Args:
        coincidences: (..., C, C), summed over items that have the same number of ratings each
            (`cfeval.stats.agreement`).

    Returns:
        (...); NaN where there is no item, or all labels are one and the same.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = coincidences / coincidences.sum(axis=(-2, -1), keepdims=True)
        observed = np.trace(shares, axis1=-2, axis2=-1)
        chance = (shares.sum(axis=-1) ** 2).sum(axis=-1)
        return np.where(chance < 1 - 1e-12, (observed - chance) / (1 - chance), np.nan)


def krippendorff_alpha(coincidences: Floats, scale: Scale) -> Floats:
    """α = 1 − D_o / D_e, at most 1; 0 is chance.

    Args:
        coincidences: (..., C, C), summed over items (`cfeval.stats.agreement`); labels in ascending order.
        scale: how far two labels are apart. nominal: 1 if they differ; ordinal: by the ranks between them, squared.

    Returns:
        (...); NaN where no item has two labels, or all labels are one and the same.
    """
    counts = coincidences.sum(axis=-1)
    total = counts.sum(axis=-1)
    apart = distances(counts, scale)
    observed_disagreement = (coincidences * apart).sum(axis=(-2, -1))
    expected_disagreement = (counts[..., :, None] * counts[..., None, :] * apart).sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(
            expected_disagreement > 0, 1 - (total - 1) * observed_disagreement / expected_disagreement, np.nan
        )


def distances(counts: Floats, scale: Scale) -> Floats:
    """(..., C, C): the squared distance of every two labels.

    Args:
        counts: (..., C), how often each label was given; ordinal distances rest on it.
    """
    if scale == "nominal":
        return np.ones(counts.shape[-1]) - np.eye(counts.shape[-1])
    middle = counts.cumsum(axis=-1) - counts / 2
    squared: Floats = (middle[..., :, None] - middle[..., None, :]) ** 2
    return squared


def agreement_rate(ratings: Ratings, level: float, groups: Groups = None) -> Estimate:
    """The share of items to which all raters gave the same label, among those that all of them labelled."""
    rows, kept = _labelled(ratings, groups, all)
    if not rows:
        return Estimate(None, note="no item was labelled by all raters")
    return wilson(share([float(len(set(row)) == 1) for row in rows], kept), level)


def cohen(ratings: Ratings, level: float, resamples: int, seed: int, groups: Groups = None) -> Estimate:
    """Cohen's κ of two raters, on the items that both labelled.

    Raises:
        ValueError: there are not two raters.
    """
    if any(len(row) != 2 for row in ratings):
        raise ValueError("`ratings` must have two raters for Cohen's kappa")
    rows, kept = _labelled(ratings, groups, all)
    labels = _labels(rows)
    tables = [[[(x, y) == (first, second) for y in labels] for x in labels] for first, second in rows]
    return _estimate("kappa", tables, len(labels), cohen_kappa, level, resamples, seed, kept)


def fleiss(ratings: Ratings, level: float, resamples: int, seed: int, groups: Groups = None) -> Estimate:
    """Fleiss' κ of two or more raters, on the items that all of them labelled."""
    rows, kept = _labelled(ratings, groups, all)
    return _of_coincidences("kappa", rows, fleiss_kappa, level, resamples, seed, kept)


def alpha(ratings: Ratings, scale: Scale, level: float, resamples: int, seed: int, groups: Groups = None) -> Estimate:
    """Krippendorff's α of two or more raters, on the items that at least two of them labelled."""
    rows, kept = _labelled(ratings, groups, lambda given: sum(given) > 1)
    return _of_coincidences("alpha", rows, partial(krippendorff_alpha, scale=scale), level, resamples, seed, kept)


def _labelled(ratings: Ratings, groups: Groups, enough: Callable[[list[bool]], bool]) -> tuple[Ratings, Groups]:
    """The items with enough labels, and their groups."""
    kept = [index for index, row in enumerate(ratings) if enough([label is not None for label in row])]
    return [ratings[index] for index in kept], None if groups is None else [groups[index] for index in kept]


def _labels(rows: Ratings) -> list[float]:
    return sorted({label for row in rows for label in row if label is not None})


def _of_coincidences(
    name: str,
    rows: Ratings,
    measure: Callable[[Floats], Floats],
    level: float,
    resamples: int,
    seed: int,
    groups: Groups,
) -> Estimate:
    labels = _labels(rows)
    return _estimate(name, coincidence_matrix(rows, labels), len(labels), measure, level, resamples, seed, groups)


def _estimate(
    name: str,
    tables: npt.ArrayLike,
    size: int,
    measure: Callable[[Floats], Floats],
    level: float,
    resamples: int,
    seed: int,
    groups: Groups,
) -> Estimate:
    """A measure of a sum of tables, one (size, size) an item."""
    n = len(np.asarray(tables))
    if size < 2:
        note = "all labels are the same" if size else "no item has two labels"
        return Estimate(None, n=n, note=f"{note}: {name} is not defined")
    totals = cluster_sums(np.reshape(tables, (n, size * size)), groups)

    def statistic(sums: Floats) -> Floats:
        return measure(sums.reshape(*sums.shape[:-1], size, size))

    value = float(statistic(totals.sum(axis=0)))
    if len(totals) < 2:
        return Estimate(value, n=n, note="a single cluster of items gives no interval")
    drawn = resampled(totals, statistic, level, resamples, seed).bootstrap_distribution
    defined = drawn[np.isfinite(drawn)]
    if np.ptp(defined) < 1e-12:
        return Estimate(value, n=n, note=f"no variation: the bootstrap gives no interval for {name}")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    lost = f"{len(drawn) - len(defined)} of {len(drawn)} resamples have no {name}" if len(defined) < len(drawn) else ""
    method = described("percentile bootstrap", level, has_clusters(groups))
    return Estimate(value, float(low), float(high), method, n, lost)


Codes = npt.NDArray[np.int64]
RESAMPLING = "re-sampling"
RESIDUAL = "residual"
# Below that many levels a component is called rough: its chi-squared interval spans a factor of more than 40.
FEW = 5


@dataclass(frozen=True)
class Component:
    """Where variance comes from, and how much."""

    source: str
    levels: int
    """Different values of the factor; of `residual`: cells, combinations of levels; of `re-sampling`: observations."""
    variance: float | None = None
    share: float | None = None
    """Of the sum of all components, in [0, 1]."""
    note: str = ""


def variance_split(scores: Sequence[float], factors: Mapping[str, Sequence[str]]) -> list[Component]:
    """A component for each factor, then `residual` and `re-sampling`.

    Observations with equal levels of every factor are repeats of one cell, and what differs between them is
    `re-sampling`. `residual` is what the factors do only together (a judge who dislikes one writer's edits of one
    item); where no cell was repeated it holds re-sampling as well, which then has no component of its own. Factors
    whose levels always come together (one model as writer and judge) share one component: `writer and judge`.

    Args:
        scores: N observations.
        factors: by name, the level that each observation has.

    Raises:
        ValueError: there are no scores, or a factor has not one level for each.
    """
    uneven = [name for name, levels in factors.items() if len(levels) != len(scores)]
    if uneven or not scores:
        raise ValueError(
            f"there must be a level of {' and '.join(uneven) or 'each factor'} for each of {len(scores)} scores"
        )
    parts, silent = _parts(factors, len(scores))
    variances = _mivque0(np.asarray(scores, dtype=np.float64), list(parts.values())) if parts else None
    if variances is None:
        note = "the design cannot tell the sources apart"
        return [Component(name, _levels(codes), note=note) for name, codes in parts.items()] + silent
    total = float(np.maximum(variances, 0).sum())
    named = zip(parts.items(), variances, strict=True)
    return [_component(name, _levels(codes), float(variance), total) for (name, codes), variance in named] + silent


def _parts(factors: Mapping[str, Sequence[str]], n: int) -> tuple[dict[str, Codes], list[Component]]:
    """The different ways in which sources part the observations, by name; and the sources without a component."""
    codes_by_factor = {name: _codes(np.asarray(levels)) for name, levels in factors.items()}
    cells = _codes(np.stack(list(codes_by_factor.values()), axis=1))
    parts: dict[str, Codes] = {}
    silent = []
    for name, codes in {**codes_by_factor, RESIDUAL: cells, RESAMPLING: np.arange(n)}.items():
        same = next((other for other, same_codes in parts.items() if _same(codes, same_codes)), None)
        why = _silence(name, _levels(codes), n, same)
        if why:
            silent.append(Component(name, _levels(codes), note=why))
        elif same:
            parts = {
                f"{other} and {name}" if other == same else other: same_codes for other, same_codes in parts.items()
            }
        else:
            parts[name] = codes
    return parts, silent


def _silence(name: str, levels: int, n: int, same: str | None) -> str:
    """Why a source has no component; empty where it has one."""
    if levels == 1:
        return "a single level"
    if name == RESAMPLING:
        return f"no cell of the design was repeated: it is in `{same}`" if same else ""
    if name == RESIDUAL:
        return f"there is nothing beside {same}" if same else ""
    return "one score a level: not to be told from re-sampling" if levels == n else ""


def _mivque0(scores: Floats, parts: Sequence[Codes]) -> Floats | None:
    """The variance of each source, below 0 where chance has it so; None where they cannot be told apart.

    Solves E‖Zₖ'My‖² = Σₗ σₗ² ‖Zₖ'MZₗ‖², with Z the indicators of a source's levels and M the centering.
    """
    centered = scores - np.sort(scores).mean()
    squares = np.array([(np.bincount(codes, centered) ** 2).sum() for codes in parts])
    expected_squares = np.array([[_overlap(first, second) for second in parts] for first in parts])
    scale = np.sqrt(np.diag(expected_squares))
    even = expected_squares / np.outer(scale, scale)
    if np.linalg.matrix_rank(even, tol=1e-9) < len(parts):
        return None
    variances: Floats = np.linalg.solve(even, squares / scale) / scale
    return variances


def _overlap(first: Codes, second: Codes) -> float:
    """‖Z'MZ̃‖²: squared counts of the cross table, each less what its margins lead to expect."""
    n, (ones, others) = len(first), (np.bincount(codes) for codes in (first, second))
    both = np.unique(first * len(others) + second, return_counts=True)[1].astype(np.float64)
    margins = (ones[first] * others[second]).sum() / n
    return float((both**2).sum() - 2 * margins + (ones**2).sum() * ((others**2).sum() / n) / n)


def _component(source: str, levels: int, variance: float, total: float) -> Component:
    note = "an estimate below 0 is set to 0" if variance < 0 else "few levels: a rough figure" if levels < FEW else ""
    if total < 1e-12:
        return Component(source, levels, 0.0, None, "the scores do not vary")
    return Component(source, levels, max(0.0, variance), max(0.0, variance) / total, note)


def _codes(levels: npt.NDArray[Any]) -> Codes:
    return np.unique(levels, axis=0, return_inverse=True)[1].reshape(-1)


def _levels(codes: Codes) -> int:
    return int(codes.max()) + 1


def _same(first: Codes, second: Codes) -> bool:
    return _levels(first) == _levels(second) == len(np.unique(first * (_levels(second)) + second))
