"""From scores to figures: items as the unit, edits of an item averaged, images as clusters.

EDCT 2025, Section 3, and EDCT-Bench 2026: the mean over an item's edits, then over items. Missing is not zero: an edit
without a score counts neither way, and what it could change is told as bounds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from cfeval.params import Interval
from cfeval.records.common import Status
from cfeval.records.edct import Score
from cfeval.stats.bootstrap import bootstrap
from cfeval.stats.estimate import DECIMALS, Estimate
from cfeval.stats.interval import interval

Figures = dict[str, object]


@dataclass(frozen=True)
class Value:
    """An item's value, and its cluster: items about the same image share it."""

    item: str
    group: str
    value: float


def by_item(scores: Iterable[Score]) -> Iterator[list[Score]]:
    """The rows of one item after the other; `scores` are in the order of items."""
    for _, rows in groupby(scores, key=lambda score: score.id):
        yield list(rows)


def values(scores: Sequence[Score], metric: str) -> list[Value]:
    """The mean of a metric over each item's edits that have one; items without any are left out."""
    found = []
    for rows in by_item(scores):
        told = [float(value) for row in rows if (value := getattr(row, metric)) is not None]
        if told:
            found.append(Value(rows[0].id, rows[0].group or rows[0].id, sum(told) / len(told)))
    return found


def mean(numbers: Sequence[float]) -> float | None:
    """The rounded mean, or None where there is nothing to average."""
    return round(sum(numbers) / len(numbers), DECIMALS) if numbers else None


def with_interval(name: str, of: Sequence[Value], how: Interval) -> Figures:
    """`name`, `name_lo` and `name_hi`; nothing where there is nothing to average."""
    return estimate_figures(name, estimate(of, how)) if of else {}


def difference_with_interval(name: str, of: Sequence[Value], how: Interval) -> Figures:
    """The same for values in [−1, 1]."""
    if not of:
        return {}
    numbers, groups = [value.value for value in of], [value.group for value in of]
    return estimate_figures(name, bootstrap(numbers, how.level, how.resamples, how.seed, groups, bounds=(-1, 1)))


def estimate(of: Sequence[Value], how: Interval) -> Estimate:
    """The mean of values in [0, 1] with its interval; items about the same image are a cluster."""
    numbers, groups = [value.value for value in of], [value.group for value in of]
    return interval(numbers, how.method, how.level, how.resamples, how.seed, groups)


def estimate_figures(name: str, of: Estimate) -> Figures:
    """`name`, `name_lo` and `name_hi` of an estimate, rounded."""
    rounded = of.rounded()
    return {name: rounded.value, f"{name}_lo": rounded.low, f"{name}_hi": rounded.high}


def methods(scores: Sequence[Score], metrics: Sequence[str], how: Interval) -> str:
    """How the intervals of some metrics were computed, each way once."""
    used = [estimate(of, how).method for metric in metrics if (of := values(scores, metric))]
    return "; ".join(dict.fromkeys(used))


def counts(scores: Sequence[Score]) -> Figures:
    """`n`, the items; `n_scored`, those of them that have a score."""
    items = list(by_item(scores))
    return {"n": len(items), "n_scored": sum(any(row.status == Status.OK for row in rows) for rows in items)}


def missing(scores: Sequence[Score]) -> str:
    """Why edits have no score, with counts, the commonest first."""
    reasons = Counter(score.status.value for score in scores if score.status != Status.OK)
    ordered = sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0]))
    return ", ".join(f"{status} {count}" for status, count in ordered)


def bounds(scores: Sequence[Score], metric: str) -> tuple[float | None, float | None]:
    """The means over all items if every edit without a score had scored 0, or 1."""
    least, most = [], []
    for rows in by_item(scores):
        told = [getattr(row, metric) for row in rows]
        least.append(sum(value or 0 for value in told) / len(told))
        most.append(sum(1 if value is None else value for value in told) / len(told))
    return mean(least), mean(most)


def accuracy(scores: Sequence[Score]) -> float | None:
    """Mean accuracy of the baseline answers; an item with several edits counts once."""
    return mean(list({score.id: score.correct for score in scores if score.correct is not None}.values()))


def edit_checks(scores: Sequence[Score]) -> Figures:
    """`edit_verified`, the share of right edits, and `n_checked`, the edits that a verifier could judge."""
    checked = [float(score.verified) for score in scores if score.verified is not None]
    return {"edit_verified": mean(checked), "n_checked": len(checked)}
