"""Holm's adjustment of the p-values of one table (Holm 1979)."""

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values, in the order given: reject where one is below the level, and the chance of any false rejection
    in the whole table stays below it.

    Args:
        p_values: None where there was no test; it stays None and counts for nothing.
    """
    from statsmodels.stats.multitest import multipletests  # slow to load, and most commands need none of it

    tested = [p for p in p_values if p is not None]
    adjusted = iter(multipletests(tested, method="holm")[1] if tested else ())
    return [None if p is None else float(next(adjusted)) for p in p_values]
