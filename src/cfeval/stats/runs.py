"""Repeated runs of one study: Student's t interval of their mean (mean ± t · sd / √runs)."""

from collections.abc import Sequence

import numpy as np

from cfeval.stats.estimate import Estimate, described


def over_runs(values: Sequence[float], level: float, bounds: tuple[float, float] = (0.0, 1.0)) -> Estimate:
    """The mean of one figure over runs that differ in their seeds alone.

    The interval tells how far the figure moves if the same items are run again. It says nothing of other items: for
    that, take the interval over items, within one run.

    Args:
        values: the figure of each run, at least one.
        level: nominal coverage, in (0, 1).
        bounds: limits are cut off at them.
    """
    from scipy.stats import t

    data, runs, method = np.sort(values), len(values), described("t over runs", level)
    mean = float(data.mean())
    if runs == 1:
        return Estimate(mean, n=1, note="a single run: how far runs differ is unknown")
    half = float(t.ppf((1 + level) / 2, runs - 1) * data.std(ddof=1) / np.sqrt(runs))
    note = f"all {runs} runs gave the same figure" if data[0] == data[-1] else ""
    return Estimate(mean, max(bounds[0], mean - half), min(bounds[1], mean + half), method, runs, note)
