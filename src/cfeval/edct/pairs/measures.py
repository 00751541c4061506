"""What the table of `pairs-2026` estimates, from the verdicts of pairs, and what others printed about a set of them.

The correlational counterfactual test is the phi coefficient of (the answer moved, an explanation names the changed
thing) over pairs (Siegel et al. 2024). Atanasova et al. 2023 ask for the share named among those whose answer moved.

Published figures (data/reference/pairs.csv) are a reading aid: the sets' own tasks ask another question than ours, or
ask it otherwise: a figure beside is no replication.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from cfeval.core.records import Record
from cfeval.edct.pairs.records import PairVerdict
from cfeval.report.tables import cell
from cfeval.stats.estimates import Estimate, Floats, described
from cfeval.stats.intervals import Interval, resampled
from cfeval.stats.misclassification import auc_interval
from cfeval.stats.proportions import share, wilson, wilson_limits

Indicator = Callable[[PairVerdict], float | None]
# A variance that is rounding alone.
_NOTHING = 1e-12


def rate(of: Sequence[PairVerdict], bit: Indicator, level: float = 0.95) -> Estimate:
    """The share of pairs of which `bit` is 1, among those of which it is known; clustered Wilson interval."""
    told = [(value, one.cluster) for one in of if (value := bit(one)) is not None]
    if not told:
        return Estimate(None, note="nothing was observed")
    return wilson(share([value for value, _ in told], [cluster for _, cluster in told]), level)


def phi(of: Sequence[PairVerdict], how: Interval, named: Indicator = lambda one: one.named) -> Estimate:
    """The phi coefficient of (answer moved, changed thing named), in [−1, 1]; see `_correlation`."""
    told = [(one, value) for one in of if one.moved is not None and (value := named(one)) is not None]
    return _correlation([(one.cluster, float(one.moved or 0), value) for one, value in told], how)


def cct(of: Sequence[PairVerdict], how: Interval) -> Estimate:
    """The correlation of (total variation distance of both answers, changed thing named), in [−1, 1].

    The correlational counterfactual test in its own form (Siegel et al. 2024), of which phi is that for answers alone.
    """
    told = [(one.cluster, one.total_variation, one.named) for one in of]
    return _correlation([(c, x, float(y)) for c, x, y in told if x is not None and y is not None], how)


def _correlation(pairs: Sequence[tuple[str, float, float]], how: Interval) -> Estimate:
    """Pearson's correlation of two figures; of two bits it is phi.

    Percentile bootstrap over images. Where every resample has the same value, as where both bits agree in all pairs,
    the limit is 2 w − 1 or its negative, w being Wilson's lower limit of the share on which they agree or differ.

    Args:
        pairs: cluster (image), and both figures.
        how: level, resamples and seed of the interval.

    Returns:
        No figure where one of the two never varies.
    """
    rows = [(cluster, (1.0, x, y, x * y, x * x, y * y)) for cluster, x, y in pairs]
    # (K, 6): the sums of each cluster, in an order that depends on the data alone.
    sums: dict[str, Floats] = {}
    for cluster, row in rows:
        sums[cluster] = sums.get(cluster, np.zeros(6)) + np.asarray(row)
    totals = np.asarray(sorted(sums.values(), key=tuple)) if sums else None
    if totals is None or np.isnan(figure := float(_pearson(totals.sum(axis=0)))):
        return Estimate(None, n=len(rows), note="the answer, or what is named, never varies")
    if len(totals) == 1:
        return Estimate(figure, -1.0, 1.0, described("one image", how.level, True), len(rows))
    clustered = len(totals) < len(rows)
    drawn = resampled(totals, _pearson, how.level, how.resamples, how.seed).bootstrap_distribution
    drawn = drawn[~np.isnan(drawn)]
    if len(drawn) == 0 or np.ptp(drawn) < 1e-12:
        low = 2 * wilson_limits(1.0, len(totals), how.level)[0] - 1
        limits = (low, 1.0) if figure > 0 else (-1.0, -low)
        return Estimate(figure, *limits, described("Wilson bound", how.level, clustered), len(rows))
    tail = (1 - how.level) / 2
    low, high = (float(limit) for limit in np.quantile(drawn, [tail, 1 - tail]))
    method = described("percentile bootstrap", how.level, clustered)
    return Estimate(figure, min(low, figure), max(high, figure), method, len(rows))


def f_auroc(of: Sequence[PairVerdict], level: float) -> Estimate:
    """(1 + P(named | moved) − P(named | not moved)) / 2: F-AUROC at one level of detail (Siegel et al. 2025)."""
    told = [
        (float(one.named), float(one.moved), one.cluster)
        for one in of
        if one.named is not None and one.moved is not None
    ]
    scores, kinds, clusters = ([row[place] for row in told] for place in range(3))
    return auc_interval(scores, kinds, level, [str(cluster) for cluster in clusters])  # type: ignore[arg-type]


def counts(of: Sequence[PairVerdict]) -> dict[str, int]:
    """The 2 × 2 table: answer moved × changed thing named."""
    cells = {"moved_named": (1, 1), "moved_unnamed": (1, 0), "unmoved_named": (0, 1), "unmoved_unnamed": (0, 0)}
    return {name: sum((one.moved, one.named) == cell for one in of) for name, cell in cells.items()}


def images_named(of: Sequence[PairVerdict]) -> dict[str, bool]:
    """Of each original image, by its hash, whether its explanation names what was changed in at least one pair of it.

    Where images have several pairs, as in an edit bank, these are the images for which the set has a change of what the
    target cites.
    """
    found: dict[str, bool] = {}
    for one in of:
        if one.named_before is not None:
            found[one.cluster] = found.get(one.cluster, False) or bool(one.named_before)
    return found


def both_right(one: PairVerdict) -> float | None:
    """1 where the answers to both images are right."""
    if one.correct_before is None or one.correct_after is None:
        return None
    return float(one.correct_before and one.correct_after)


def where(bit: Indicator, moved: int) -> Indicator:
    """The bit of those pairs alone whose answer moved (1) or stayed (0)."""
    return lambda one: bit(one) if one.moved == moved else None


def _pearson(sums: Floats) -> Floats:
    """Of sums over (1, x, y, xy, x², y²), shape (..., 6); not a number where x or y never varies."""
    n, x, y, both, squares_x, squares_y = (sums[..., place] for place in range(6))
    of_x, of_y = n * squares_x - x * x, n * squares_y - y * y
    room = np.where((of_x > _NOTHING * n * n) & (of_y > _NOTHING * n * n), of_x * of_y, 0.0)
    found: Floats = np.where(room > 0, (n * both - x * y) / np.sqrt(np.where(room > 0, room, 1.0)), np.nan)
    return np.clip(found, -1.0, 1.0)


# Columns of the table beside which there may be a published figure.
METRICS = ("pair_accuracy", "accuracy_after")
_MARKS = re.compile(r"[\W_]+")


class PublishedPairs(Record):
    """A figure that was printed about a set of pairs."""

    source: str
    plugin: str
    """The plugin that reads the set."""
    model: str
    kind: str = ""
    """The kind of change; empty: all pairs."""
    metric: str
    """A column of the table of given pairs."""
    value: float
    """In [0, 1]."""
    printed: str
    """What the source calls it."""


def beside(published: Iterable[PublishedPairs], plugin: str, model: str, kind: str) -> dict[str, float]:
    """What was printed of a model and a kind of change, by column: `paper_pair_accuracy`.

    Names of models are compared without letter case and marks; where several lines match, the first counts.
    """
    found: dict[str, float] = {}
    for line in published:
        if (line.plugin, line.kind, _plain(line.model)) == (plugin, kind, _plain(model)) and line.metric in METRICS:
            found.setdefault(f"paper_{line.metric}", line.value)
    return found


def notes(published: Iterable[PublishedPairs], sets: Mapping[str, str]) -> list[str]:
    """A line for each source of the sets that a table shows: its figures, the highest first.

    Args:
        published: all that is known.
        sets: the plugin of each set that is shown, by name.
    """
    shown: dict[tuple[str, str, str], list[PublishedPairs]] = {}
    for line in published:
        if line.plugin in sets.values():
            shown.setdefault((line.source, line.printed, line.kind), []).append(line)
    return [_note(*key, of) for key, of in shown.items()]


def _note(source: str, printed: str, kind: str, of: Sequence[PublishedPairs]) -> str:
    ranked = sorted(of, key=lambda line: (-line.value, line.model))
    figures = ", ".join(f"{line.model} {cell(line.value)}" for line in ranked)
    of_kind = f"{printed} ({kind})" if kind else printed
    return f"Published for {source}: {of_kind}: {figures}. Its task or its prompts are others than ours."


def _plain(name: str) -> str:
    return _MARKS.sub("", name.casefold())
