"""What the tables of arms have in common: one row an arm, every figure with what it rests on."""

from collections.abc import Sequence

from cfeval.params import Interval
from cfeval.protocols.rules import RULES
from cfeval.records.edct import Arm, Score
from cfeval.records.tables import ArmRow
from cfeval.tables.items import Figures, accuracy, bounds, counts, edit_checks, methods, missing, values, with_interval
from cfeval.tables.material import Material
from cfeval.tables.published import published_figures


def arm_rows(table: str, arms: Sequence[Arm], material: Material) -> list[ArmRow]:
    """A row for each arm, in the order of `arms`; scores of other arms are left aside.

    Args:
        table: `table1` or `table2`: which published figures may stand beside.

    Raises:
        InputError: an arm has no scores.
    """
    return [
        ArmRow.model_validate({**summary(arm, material.of(arm), material.how), **beside(table, arm, material)})
        for arm in dict.fromkeys(arms)
    ]


def beside(table: str, arm: Arm, material: Material) -> Figures:
    """What the paper printed for this very cell, and whether the target is a built-in test model."""
    paper = published_figures(arm, table, material.published)
    figures: Figures = {f"paper_{metric}": value for metric, value in paper.items()}
    return figures | {"test_world": 1 if arm.vlm in material.test_targets else 0}


def summary(arm: Arm, scores: Sequence[Score], how: Interval) -> Figures:
    """Every figure of one arm's scores, by its column."""
    metrics = (*RULES[arm.protocol].scores, "ccs")
    figures = arm.model_dump() | counts(scores) | {"ci": methods(scores, metrics, how)}
    for metric in metrics:
        figures |= with_interval(metric, values(scores, metric), how)
    least, most = bounds(scores, "ccs")
    known = {"accuracy": accuracy(scores), "missing": missing(scores), "ccs_min": least, "ccs_max": most}
    return figures | known | edit_checks(scores)
