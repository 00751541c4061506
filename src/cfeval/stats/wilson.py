"""Wilson's score interval of a share (Wilson 1927; EDCT-Bench 2026 uses it for agreement rates)."""

from collections.abc import Sequence


def wilson(values: Sequence[float], level: float) -> tuple[float, float]:
    """The interval of the share of ones among `values`.

    Args:
        values: zeros and ones, at least one of them.
        level: nominal coverage, in (0, 1).

    Returns:
        Lower and upper limit, in [0, 1].

    Raises:
        ValueError: a value is neither 0 nor 1.
    """
    from statsmodels.stats.proportion import proportion_confint  # slow to load, and most commands need none of it

    odd = [value for value in values if value not in (0, 1)]
    if odd:
        raise ValueError(f"`values` must be zeros and ones for a Wilson interval, but got {odd[0]}")
    low, high = proportion_confint(sum(values), len(values), alpha=1 - level, method="wilson")
    return max(0.0, float(low)), min(1.0, float(high))
