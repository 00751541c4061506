"""What the tables of arms have in common: one row an arm, every figure with what it rests on."""

from collections.abc import Sequence

from cfeval.params.edct import Interval
from cfeval.protocols.rules import EDCT_2025, RULES
from cfeval.records.edct import Arm
from cfeval.records.edct_tables import ArmRow
from cfeval.tables.arms import arms_under
from cfeval.tables.items import Figures, accuracy, bounds, counts, edit_checks, estimate, figures_of, values
from cfeval.tables.material import Material
from cfeval.tables.published import published_figures
from cfeval.tables.rows import Row


def arm_rows(table: str, arms: Sequence[Arm], material: Material) -> list[ArmRow]:
    """A row for each arm, in the order of `arms`; scores of other arms are left aside.

    Args:
        table: `table1` or `table2`: which published figures may stand beside.

    Raises:
        InputError: an arm has no scores, or another protocol's.
    """
    return [
        ArmRow.model_validate(summary(arm, material.of(arm), material.how) | beside(table, arm, material))
        for arm in arms_under(arms, table, EDCT_2025)
    ]


def beside(table: str, arm: Arm, material: Material) -> Figures:
    """What the paper printed for this very cell, and whether the target is a built-in test model."""
    paper = published_figures(arm, table, material.published)
    figures: Figures = {f"paper_{metric}": value for metric, value in paper.items()}
    return figures | {"test_world": material.is_test(arm.vlm)}


def summary(arm: Arm, scores: Sequence[Row], how: Interval) -> Figures:
    """Every figure of one arm's scores, by its column."""
    rules = RULES[arm.protocol]
    metrics = (*rules.scores, "ccs", *(["ccs_graded"] if rules.graded else []))
    found = figures_of({metric: estimate(values(scores, metric), how) for metric in metrics})
    figures = arm.model_dump() | counts(scores) | found | bounds("ccs", scores, "ccs")
    return figures | {"accuracy": accuracy(scores)} | edit_checks(scores)
