"""Means with confidence intervals, by the method that the parameters name: over items, or over repeated runs.

The mean is over an item's edits, then over items, and images are clusters (EDCT 2025, Section 3; EDCT-Bench 2026).
Missing is not zero: an edit without a score counts neither way. Over runs the interval is Student's t of their mean
(mean ± t · sd / √runs).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from cfeval.core.config import Section
from cfeval.stats.bootstrap import bootstrap, no_variation
from cfeval.stats.estimates import DECIMALS, Estimate, Groups, described, sums_and_counts
from cfeval.stats.proportions import mean_as_share, share, wilson

Method = Literal["bootstrap", "bca", "wilson"]


class Interval(Section):
    """How confidence intervals are computed."""

    method: Method = Field(
        "wilson",
        description="Wilson, with images as clusters; or a bootstrap over images.",
    )
    level: float = Field(0.95, gt=0, lt=1, description="Nominal coverage.")
    resamples: int = Field(2000, ge=100, description="Bootstrap resamples.")
    seed: int = Field(0, ge=0, description="Seed of the resampling.")


@dataclass(frozen=True, slots=True)
class ItemScore:
    """An item's value, and its cluster: items about the same image share it."""

    item: str
    cluster: str
    value: float


def estimate(of: Sequence[ItemScore], how: Interval, bounds: tuple[float, float] = (0.0, 1.0)) -> Estimate:
    """The mean with its interval; items about the same image are a cluster.

    Args:
        bounds: of the values; where they are not [0, 1] the interval is the percentile bootstrap's.
    """
    if not of:
        return Estimate(None, note="nothing was scored")
    numbers, groups = [value.value for value in of], [value.cluster for value in of]
    if bounds != (0.0, 1.0):
        return bootstrap(numbers, how.level, how.resamples, how.seed, groups, bounds=bounds)
    return interval(numbers, how.method, how.level, how.resamples, how.seed, groups)


def interval(
    values: Sequence[float], method: Method, level: float, resamples: int, seed: int, groups: Groups = None
) -> Estimate:
    """The mean of `values` with its interval.

    Args:
        values: at least one, in [0, 1].
        method: `wilson`, `bca` or `bootstrap` (percentile, EDCT-Bench 2026).
        level: nominal coverage, in (0, 1).
        resamples, seed: of the bootstrap.
        groups: the cluster (image) of each value.

    Raises:
        ValueError: there are no values, or one is out of bounds.
    """
    if method == "wilson" and all(value in (0, 1) for value in values):
        return wilson(share(values, groups), level)
    if method == "wilson" and not no_variation(sums_and_counts(values, groups)):
        return wilson(mean_as_share(values, groups), level)
    return bootstrap(values, level, resamples, seed, groups, "percentile" if method == "bootstrap" else "BCa")


def t_interval(values: Sequence[float], level: float, bounds: tuple[float, float] = (0.0, 1.0)) -> Estimate:
    """The mean of one figure over runs that differ in their seeds alone.

    The interval tells how far the figure moves if the same items are run again. It says nothing of other items: for
    that, take the interval over items, within one run.

    Args:
        values: the figure of each run, at least one.
        level: nominal coverage, in (0, 1).
        bounds: limits are cut off at them.
    """
    from scipy.special import stdtrit

    data, runs, method = np.sort(values), len(values), described("t over runs", level)
    mean = float(data.mean())
    if runs == 1:
        return Estimate(mean, n=1, note="a single run: how far runs differ is unknown")
    if np.ptp(data) < 1e-12:
        return Estimate(mean, n=runs, note=f"all {runs} runs gave the same figure: an interval would have no width")
    half = float(stdtrit(runs - 1, (1 + level) / 2) * data.std(ddof=1) / np.sqrt(runs))
    return Estimate(mean, max(bounds[0], mean - half), min(bounds[1], mean + half), method, runs)


def mean(numbers: Iterable[float]) -> float | None:
    """The rounded mean, or None where there is nothing to average."""
    told = sorted(numbers)
    return rounded(sum(told) / len(told)) if told else None


def mean_of(of: Iterable[ItemScore]) -> float | None:
    """The rounded mean of items."""
    return mean(value.value for value in of)


def rounded(number: float | None) -> float | None:
    """As tables show it; never −0."""
    return None if number is None else round(number, DECIMALS) + 0.0
