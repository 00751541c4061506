"""Confidence intervals of a mean, by the method that the parameters name."""

from collections.abc import Sequence
from typing import Literal

from cfeval.stats.bootstrap import bootstrap
from cfeval.stats.wilson import wilson

Method = Literal["bootstrap", "wilson"]
DECIMALS = 4
"""Limits are rounded, so that they are the same on any machine."""


def interval(values: Sequence[float], method: Method, level: float, resamples: int, seed: int) -> tuple[float, float]:
    """Lower and upper limit of the mean of `values`, rounded to `DECIMALS`.

    Args:
        values: at least one value; zeros and ones for `wilson`.
        method: `bootstrap` (percentile, EDCT-Bench 2026) or `wilson` (Wilson 1927).
        level: nominal coverage, in (0, 1).
        resamples, seed: of the bootstrap; `wilson` does not read them.

    Raises:
        ValueError: there are no values, or `wilson` got one that is neither 0 nor 1.
    """
    if not values:
        raise ValueError("`values` must not be empty: no interval can be given")
    limits = wilson(values, level) if method == "wilson" else bootstrap(values, level, resamples, seed)
    return round(limits[0], DECIMALS), round(limits[1], DECIMALS)


def describe(method: Method, level: float) -> str:
    """The method's name for a table: `percentile bootstrap 95 %`."""
    name = {"bootstrap": "percentile bootstrap", "wilson": "Wilson"}[method]
    return f"{name} {level * 100:g} %"
