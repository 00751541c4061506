"""Percentile bootstrap of a mean: the interval of EDCT-Bench 2026 (Efron 1979)."""

from collections.abc import Sequence

import numpy as np

_DRAWS_AT_ONCE = 5_000_000


def bootstrap(values: Sequence[float], level: float, resamples: int, seed: int) -> tuple[float, float]:
    """The interval of the mean of `values`.

    The order of the values does not matter, so a result is the same however they were cut into files.

    Args:
        values: at least one value.
        level: nominal coverage, in (0, 1).
        resamples: samples drawn with replacement.
        seed: seed of the drawing.

    Returns:
        Lower and upper limit; both are the value itself where all values are equal.
    """
    data = np.sort(np.asarray(values, dtype=np.float64))
    if data[0] == data[-1]:
        return float(data[0]), float(data[0])
    from scipy.stats import bootstrap as scipy_bootstrap  # slow to load, and most commands need none of it

    found = scipy_bootstrap(
        (data,),
        np.mean,
        n_resamples=resamples,
        batch=max(1, _DRAWS_AT_ONCE // len(data)),
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(found.low), float(found.high)
