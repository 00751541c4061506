"""What Tables 1 and 2 have in common: one row an arm, every figure with what it rests on."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from cfeval.params import Interval
from cfeval.records.common import Status
from cfeval.records.edct import Arm, Score
from cfeval.records.tables import ArmRow, Published
from cfeval.stats.estimate import DECIMALS
from cfeval.stats.interval import describe, interval
from cfeval.tables.arms import by_arm, scores_of
from cfeval.tables.published import published_figures

METRICS = ("pcs", "ncc", "ccs")


def arm_rows(
    table: str,
    arms: Sequence[Arm],
    scores: Iterable[Score],
    how: Interval,
    published: Sequence[Published] = (),
    test_targets: Collection[str] = (),
) -> list[ArmRow]:
    """A row for each arm, in the order of `arms`; scores of other arms are left aside.

    Args:
        table: `table1` or `table2`: which published figures may stand beside.
        test_targets: targets that are built-in test models.

    Raises:
        InputError: an arm has no scores, or an item of it two.
    """
    grouped = by_arm(scores)
    return [
        ArmRow(
            **arm.model_dump(),
            **summary(scores_of(arm, grouped), how),
            **{f"paper_{metric}": value for metric, value in published_figures(arm, table, published).items()},
            test_world=1 if arm.vlm in test_targets else 0,
        )
        for arm in dict.fromkeys(arms)
    ]


def summary(scores: Sequence[Score], how: Interval) -> dict[str, object]:
    """Every figure of one arm's scores, by its column."""
    scored = [score for score in scores if score.status == Status.OK]
    figures: dict[str, object] = {"n": len(scores), "n_scored": len(scored)}
    groups = [score.group or score.id for score in scored]
    found = {
        metric: interval([getattr(score, metric) for score in scored], **how.model_dump(), groups=groups).rounded()
        for metric in METRICS
        if scored
    }
    figures["ci"] = "; ".join(dict.fromkeys(one.method for one in found.values())) or describe(how.method, how.level)
    for metric, one in found.items():
        figures |= {metric: one.value, f"{metric}_lo": one.low, f"{metric}_hi": one.high}
    checked = [score.verified for score in scores if score.verified is not None]
    figures |= {"accuracy": accuracy(scores), "edit_verified": mean(checked), "n_checked": len(checked)}
    return figures | _missing(scores, sum(score.ccs or 0 for score in scored))


def mean(values: Sequence[float]) -> float | None:
    """The rounded mean, or None where there is nothing to average."""
    return round(sum(values) / len(values), DECIMALS) if values else None


def accuracy(scores: Sequence[Score]) -> float | None:
    """Mean accuracy of the baseline answers; an item with several edits counts once."""
    return mean(list({score.id: score.correct for score in scores if score.correct is not None}.values()))


def _missing(scores: Sequence[Score], ones: int) -> dict[str, object]:
    """The reasons why items have no score, and the means that scores of 0 or 1 in their place would give."""
    reasons = Counter(score.status.value for score in scores if score.status != Status.OK)
    ordered = sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0]))
    return {
        "missing": ", ".join(f"{status} {count}" for status, count in ordered),
        "ccs_min": round(ones / len(scores), DECIMALS),
        "ccs_max": round((ones + reasons.total()) / len(scores), DECIMALS),
    }
