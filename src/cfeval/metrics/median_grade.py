"""Median of a panel's grades."""

from collections.abc import Sequence
from statistics import median


def median_grade(grades: Sequence[float | None]) -> float | None:
    """The median of the grades, or None where not more than half of the panel gave one.

    Args:
        grades: one for every member; None for a member that gave none, who still counts as one of the panel.
    """
    given = [grade for grade in grades if grade is not None]
    return float(median(given)) if 2 * len(given) > len(grades) else None
