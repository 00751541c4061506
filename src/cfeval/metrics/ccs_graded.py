"""Graded CCS: a grade from 1 to 5, brought to [0, 1] (EDCT-Bench 2026)."""


def ccs_graded(grade: float | None) -> float | None:
    """(grade − 1) / 4; None where there is no grade.

    Raises:
        ValueError: the grade is not in [1, 5].
    """
    if grade is None:
        return None
    if not 1 <= grade <= 5:
        raise ValueError(f"`grade` must be in [1, 5], but got {grade}")
    return (grade - 1) / 4
