"""Confidence intervals of a mean, by the method that the parameters name."""

from collections.abc import Sequence
from typing import Literal

from cfeval.stats.bootstrap import Kind, bootstrap
from cfeval.stats.clusters import Groups
from cfeval.stats.estimate import Estimate
from cfeval.stats.wilson import share, wilson

Method = Literal["bootstrap", "bca", "wilson"]
_KINDS: dict[Method, Kind] = {"bootstrap": "percentile", "bca": "BCa", "wilson": "percentile"}


def interval(
    values: Sequence[float], method: Method, level: float, resamples: int, seed: int, groups: Groups = None
) -> Estimate:
    """The mean of `values` with its interval.

    Args:
        values: at least one, in [0, 1].
        method: `bootstrap` (percentile, EDCT-Bench 2026), `bca` or `wilson`. Wilson's interval is for zeros and ones;
            other values get the percentile bootstrap, and the estimate says so.
        level: nominal coverage, in (0, 1).
        resamples, seed: of the bootstrap.
        groups: the cluster (image) of each value.

    Raises:
        ValueError: there are no values, or one is out of bounds.
    """
    if method == "wilson" and all(value in (0, 1) for value in values):
        return wilson(share(values, groups), level)
    return bootstrap(values, level, resamples, seed, groups, _KINDS[method])
