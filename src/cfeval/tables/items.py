"""From scores to figures: items as the unit, edits of an item averaged, images as clusters.

EDCT 2025, Section 3, and EDCT-Bench 2026: the mean over an item's edits, then over items. Missing is not zero: an edit
without a score counts neither way, and what it could change is told as bounds.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from cfeval.params.edct import Interval
from cfeval.records.common import Status
from cfeval.stats.bootstrap import bootstrap
from cfeval.stats.estimate import DECIMALS, Estimate
from cfeval.stats.interval import interval
from cfeval.tables.rows import Row

Figures = dict[str, object]
Metric = str | Callable[[Row], float | None]
"""A field of what a row tells, or what follows from its fields; in [0, 1], None where the edit has no score."""


@dataclass(frozen=True, slots=True)
class Value:
    """An item's value, and its cluster: items about the same image share it."""

    item: str
    group: str
    value: float


def by_item(scores: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows of one item after the other; `scores` are in the order of items."""
    for _, rows in groupby(scores, key=attrgetter("id")):
        yield list(rows)


def values(scores: Sequence[Row], metric: Metric) -> list[Value]:
    """The mean of a metric over each item's edits that have one; items without any are left out."""
    of, found = _reader(metric), []
    for rows in by_item(scores):
        told = [float(value) for row in rows if (value := of(row)) is not None]
        if told:
            found.append(Value(rows[0].id, rows[0].group, sum(told) / len(told)))
    return found


def mean(numbers: Iterable[float]) -> float | None:
    """The rounded mean, or None where there is nothing to average."""
    told = sorted(numbers)
    return rounded(sum(told) / len(told)) if told else None


def mean_of(of: Iterable[Value]) -> float | None:
    """The rounded mean of items."""
    return mean(value.value for value in of)


def rounded(number: float | None) -> float | None:
    """As tables show it; never −0."""
    return None if number is None else round(number, DECIMALS) + 0.0


def estimate(of: Sequence[Value], how: Interval, bounds: tuple[float, float] = (0.0, 1.0)) -> Estimate:
    """The mean with its interval; items about the same image are a cluster.

    Args:
        bounds: of the values; where they are not [0, 1] the interval is the percentile bootstrap's.
    """
    if not of:
        return Estimate(None, note="nothing was scored")
    numbers, groups = [value.value for value in of], [value.group for value in of]
    if bounds != (0.0, 1.0):
        return bootstrap(numbers, how.level, how.resamples, how.seed, groups, bounds=bounds)
    return interval(numbers, how.method, how.level, how.resamples, how.seed, groups)


def figures_of(estimates: Mapping[str, Estimate]) -> Figures:
    """`name`, `name_lo` and `name_hi` of each, rounded; and `ci`, how the intervals were computed, each way once."""
    figures: Figures = {"ci": ways(*(one.method for one in estimates.values()))}
    for name, one in estimates.items():
        figures |= {name: rounded(one.value), f"{name}_lo": rounded(one.low), f"{name}_hi": rounded(one.high)}
    return figures


def ways(*methods: object) -> str:
    """Methods of intervals, each once: `percentile bootstrap 95 %; Wilson bound 95 %`."""
    return "; ".join(dict.fromkeys(way for method in methods for way in str(method).split("; ") if way))


def counts(scores: Sequence[Row]) -> Figures:
    """`n`, the items; `n_scored`, those of them that have a score; `missing`, why edits have none."""
    return {"n": n_items(scores), "n_scored": n_items(scored(scores)), "missing": missing(scores)}


def n_items(scores: Iterable[Row]) -> int:
    """How many items scores are about."""
    return len({score.id for score in scores})


def scored(scores: Iterable[Row]) -> Iterator[Row]:
    """Those that are a score."""
    return (score for score in scores if score.told.status == Status.OK)


def missing(scores: Iterable[Row]) -> str:
    """Why edits have no score, with counts, the commonest first."""
    reasons = Counter(score.told.status.value for score in scores if score.told.status != Status.OK)
    ordered = sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0]))
    return ", ".join(f"{status} {count}" for status, count in ordered)


def bounds(name: str, scores: Sequence[Row], metric: Metric) -> Figures:
    """`name_min` and `name_max`: see `extremes`; nothing where there is no item."""
    if not scores:
        return {}
    least, most = extremes(scores, metric)
    return {f"{name}_min": rounded(least), f"{name}_max": rounded(most)}


def extremes(scores: Sequence[Row], metric: Metric) -> tuple[float, float]:
    """The means over all items, at least one, if every edit without a score had scored 0, or 1."""
    of, least, most = _reader(metric), [], []
    for rows in by_item(scores):
        told = [of(row) for row in rows]
        least.append(sum(value or 0 for value in told) / len(told))
        most.append(sum(1 if value is None else value for value in told) / len(told))
    return sum(least) / len(least), sum(most) / len(most)


def accuracy(scores: Sequence[Row]) -> float | None:
    """Mean accuracy of the baseline answers; an item with several edits counts once."""
    return mean({score.id: score.told.correct for score in scores if score.told.correct is not None}.values())


def edit_checks(scores: Sequence[Row]) -> Figures:
    """`edit_verified`, the share of right edits, and `n_checked`, the edits that a verifier could judge."""
    checked = [float(score.told.verified) for score in scores if score.told.verified is not None]
    return {"edit_verified": mean(checked), "n_checked": len(checked)}


def _reader(metric: Metric) -> Callable[[Row], float | None]:
    return attrgetter(f"told.{metric}") if isinstance(metric, str) else metric
