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


def rate(verdicts: Sequence[PairVerdict], bit: Indicator, level: float = 0.95) -> Estimate:
    """The share of pairs of which `bit` is 1, among those of which it is known; clustered Wilson interval."""
    values = [(value, verdict.cluster) for verdict in verdicts if (value := bit(verdict)) is not None]
    if not values:
        return Estimate(None, note="nothing was observed")
    return wilson(share([value for value, _ in values], [cluster for _, cluster in values]), level)


def phi(
    verdicts: Sequence[PairVerdict], settings: Interval, named: Indicator = lambda verdict: verdict.named
) -> Estimate:
    """The phi coefficient of (answer moved, changed thing named), in [−1, 1]; see `_correlation`."""
    known_pairs = [
        (verdict, value) for verdict in verdicts if verdict.moved is not None and (value := named(verdict)) is not None
    ]
    return _correlation(
        [(verdict.cluster, float(verdict.moved or 0), value) for verdict, value in known_pairs], settings
    )


def cct(verdicts: Sequence[PairVerdict], settings: Interval) -> Estimate:
    """The correlation of (total variation distance of both answers, changed thing named), in [−1, 1].

    The correlational counterfactual test in its own form (Siegel et al. 2024), of which phi is that for answers alone.
    """
    values = [(verdict.cluster, verdict.total_variation, verdict.named) for verdict in verdicts]
    return _correlation([(c, x, float(y)) for c, x, y in values if x is not None and y is not None], settings)


def _correlation(pairs: Sequence[tuple[str, float, float]], settings: Interval) -> Estimate:
    """Pearson's correlation of two figures; of two bits it is phi.

    Percentile bootstrap over images. Where every resample has the same value, as where both bits agree in all pairs,
    the limit is 2 w − 1 or its negative, w being Wilson's lower limit of the share on which they agree or differ.

    Args:
        pairs: cluster (image), and both figures.

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
        return Estimate(figure, -1.0, 1.0, described("one image", settings.level, True), len(rows))
    clustered = len(totals) < len(rows)
    drawn = resampled(totals, _pearson, settings.level, settings.resamples, settings.seed).bootstrap_distribution
    drawn = drawn[~np.isnan(drawn)]
    if len(drawn) == 0 or np.ptp(drawn) < 1e-12:
        low = 2 * wilson_limits(1.0, len(totals), settings.level)[0] - 1
        limits = (low, 1.0) if figure > 0 else (-1.0, -low)
        return Estimate(figure, *limits, described("Wilson bound", settings.level, clustered), len(rows))
    tail = (1 - settings.level) / 2
    low, high = (float(limit) for limit in np.quantile(drawn, [tail, 1 - tail]))
    method = described("percentile bootstrap", settings.level, clustered)
    return Estimate(figure, min(low, figure), max(high, figure), method, len(rows))


def f_auroc(verdicts: Sequence[PairVerdict], level: float) -> Estimate:
    """(1 + P(named | moved) − P(named | not moved)) / 2: F-AUROC at one level of detail (Siegel et al. 2025)."""
    values = [
        (float(verdict.named), float(verdict.moved), verdict.cluster)
        for verdict in verdicts
        if verdict.named is not None and verdict.moved is not None
    ]
    scores, kinds, clusters = ([row[place] for row in values] for place in range(3))
    return auc_interval(scores, kinds, level, [str(cluster) for cluster in clusters])  # type: ignore[arg-type]


def counts(verdicts: Sequence[PairVerdict]) -> dict[str, int]:
    """The 2 × 2 table: answer moved × changed thing named."""
    cells = {"moved_named": (1, 1), "moved_unnamed": (1, 0), "unmoved_named": (0, 1), "unmoved_unnamed": (0, 0)}
    return {name: sum((verdict.moved, verdict.named) == cell for verdict in verdicts) for name, cell in cells.items()}


def images_named(verdicts: Sequence[PairVerdict]) -> dict[str, bool]:
    """Of each original image, by its hash, whether its explanation names what was changed in at least one pair of it.

    Where images have several pairs, as in an edit bank, these are the images for which the set has a change of what the
    target cites.
    """
    by_image: dict[str, bool] = {}
    for verdict in verdicts:
        if verdict.named_before is not None:
            by_image[verdict.cluster] = by_image.get(verdict.cluster, False) or bool(verdict.named_before)
    return by_image


def both_right(verdict: PairVerdict) -> float | None:
    """1 where the answers to both images are right."""
    if verdict.correct_before is None or verdict.correct_after is None:
        return None
    return float(verdict.correct_before and verdict.correct_after)


def where(bit: Indicator, moved: int) -> Indicator:
    """The bit of those pairs alone whose answer moved (1) or stayed (0)."""
    return lambda verdict: bit(verdict) if verdict.moved == moved else None


def _pearson(sums: Floats) -> Floats:
    """Of sums over (1, x, y, xy, x², y²), shape (..., 6); not a number where x or y never varies."""
    n, x, y, both, squares_x, squares_y = (sums[..., place] for place in range(6))
    of_x, of_y = n * squares_x - x * x, n * squares_y - y * y
    room = np.where((of_x > _NOTHING * n * n) & (of_y > _NOTHING * n * n), of_x * of_y, 0.0)
    correlation: Floats = np.where(room > 0, (n * both - x * y) / np.sqrt(np.where(room > 0, room, 1.0)), np.nan)
    return np.clip(correlation, -1.0, 1.0)


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
    figures: dict[str, float] = {}
    for line in published:
        if (line.plugin, line.kind, _plain(line.model)) == (plugin, kind, _plain(model)) and line.metric in METRICS:
            figures.setdefault(f"paper_{line.metric}", line.value)
    return figures


def notes(published: Iterable[PublishedPairs], sets: Mapping[str, str]) -> list[str]:
    """A line for each source of the sets that a table shows: its figures, the highest first."""
    shown: dict[tuple[str, str, str], list[PublishedPairs]] = {}
    for line in published:
        if line.plugin in sets.values():
            shown.setdefault((line.source, line.printed, line.kind), []).append(line)
    lines = []
    for (source, printed, kind), metrics_of_set in shown.items():
        ranked = sorted(metrics_of_set, key=lambda line: (-line.value, line.model))
        figures = ", ".join(f"{line.model} {cell(line.value)}" for line in ranked)
        of_kind = f"{printed} ({kind})" if kind else printed
        lines.append(f"Published for {source}: {of_kind}: {figures}. Its task or its prompts are others than ours.")
    return lines


def _plain(name: str) -> str:
    return _MARKS.sub("", name.casefold())
