"""Rates that follow from other rates, with intervals: a difference, a product, and a rate beyond a floor.

All three rest on the limits of the rates that they are made of (MOVER, the method of variance estimates recovery: Zou
and Donner 2008), so that no interval has zero width and none is symmetric where the rates are near 0 or 1. For a
difference of two shares with Wilson's limits this is Newcombe's hybrid score interval (Newcombe 1998, method 10).
"""

from dataclasses import replace
from math import hypot

from cfeval.stats.estimates import Estimate


def known(value: float) -> Estimate:
    """A rate that is known exactly."""
    return Estimate(value, value, value, "known")


FULL = known(1.0)
"""The ceiling of a measurement that misses nothing."""


def difference(first: Estimate, second: Estimate) -> Estimate:
    """`first` − `second`, of rates that were measured independently; in [−1, 1]. None where either has no figure."""
    if _none(first, second):
        return Estimate(None, n=min(first.n, second.n), note=first.note or second.note)
    p, low, high = _limits(first)
    q, least, most = _limits(second)
    value = p - q
    return Estimate(value, value - hypot(p - low, most - q), value + hypot(high - p, q - least), first.method, first.n)


def product(first: Estimate, second: Estimate) -> Estimate:
    """`first` · `second`, both at least 0, such as a share and a share of that share."""
    if _none(first, second):
        return Estimate(None, n=min(first.n, second.n), note=first.note or second.note)
    p, low, high = _limits(first)
    q, least, most = _limits(second)
    value = p * q
    down, up = hypot(p * (q - least), q * (p - low)), hypot(p * (most - q), q * (high - p))
    return Estimate(value, value - down, value + up, first.method, first.n)


def beyond(rate: Estimate, floor: Estimate, ceiling: Estimate = FULL, made: float = 1.0) -> Estimate:
    """How far a rate lies above its floor, as a share of how far it could: (rate − floor) / ((ceiling − floor) · made).

    It is a share, so figure and limits end at 0 and 1: by chance a rate comes out below its floor, or above what the
    ceiling lets one expect, and near a high floor that would be a share of less than −1.

    Args:
        rate: what was measured.
        floor: the same where nothing is there to be measured, as the share of answers that change although nothing was
            changed.
        ceiling: what would be measured if everything were there: the sensitivity of what measures, in (0, 1]. Each
            limit is divided by that limit of the ceiling which widens the interval.
        made: the share of cases in which there was something to measure, in (0, 1]: 1 less the share of edits that
            failed unseen.
    """
    found = difference(rate, floor)
    if found.value is None or floor.value is None:
        return found
    middle, *ends = (max(_LEAST, limit - (floor.value or 0.0)) * made for limit in _limits(ceiling))
    low, high = _limits(found)[1:]
    low, value, high = (_share(*pair) for pair in ((low, max(ends)), (found.value, middle), (high, min(ends))))
    return replace(found, value=value, low=low, high=high)


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole))


_LEAST = 0.05
"""The least room between floor and ceiling that is divided by; with less nothing can be told."""


def _none(*rates: Estimate) -> bool:
    return any(rate.value is None for rate in rates)


def _limits(of: Estimate) -> tuple[float, float, float]:
    value = of.value if of.value is not None else 0.0
    return value, 0.0 if of.low is None else of.low, 1.0 if of.high is None else of.high
