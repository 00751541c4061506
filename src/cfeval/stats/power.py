"""How many items two shares need to be told apart, and what difference a number of items can show.

Two targets are compared on items of their own, or on the same items. Normal approximation, two-sided. Two samples:
Fleiss, Levin and Paik 2003, Section 4.2, without continuity correction. The same items for both (McNemar's test):
Miettinen 1968; Connor 1987; plus 1 / |difference| items, the continuity correction that makes up for the exact test's
caution. `level` is in (0, 1), `power` in [.5, 1).

Where several comparisons are adjusted by Holm's method, plan each at `first_step`. Planned for one alone, a difference
that was to be found in 80 % of studies is found in 55 % where it is one of 6, in 39 % where it is one of 21.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

_LEAST = 1e-6


@dataclass(frozen=True)
class Design:
    """A way to compare a target of some share with one of a higher share; functions take the higher one."""

    name: str
    size: Callable[[float], float]
    """Independent items that each target needs."""
    greatest: float
    """The greatest higher share that is possible."""
    differing: Callable[[float], float] | None = None
    """The share of items on which the targets differ; None: they have no items in common."""

    def shown(self, share: float, items: float) -> float | None:
        """The least higher share that so many independent items tell from `share`; None: not even the greatest."""
        more = smallest_difference(lambda more: self.size(share + more), items, self.greatest - share)
        return None if more is None else share + more


def discordance(first: float, second: float, correlation: float) -> float:
    """The share of items on which two targets differ.

    Args:
        first, second: their shares of ones.
        correlation: of their scores over items (phi); 0 where one's score tells nothing of the other's.
    """
    spread = sqrt(first * (1 - first) * second * (1 - second))
    return first * (1 - second) + second * (1 - first) - 2 * correlation * spread


def design_effect(items_per_image: float, correlation: float) -> float:
    """By how much clustering multiplies the items that are needed (Kish 1965): 1 + (m − 1) · ρ.

    Args:
        items_per_image: mean number of items an image has.
        correlation: intraclass correlation of the scores, or of their differences where targets are compared, within
            an image.
    """
    return 1 + (items_per_image - 1) * correlation


def first_step(level: float, comparisons: int) -> float:
    """The level at which one of several comparisons is found whatever the others show: 1 − (1 − level) / comparisons.

    The first step of Holm's method (Holm 1979). Later ones ask for less, so a plan made at it is safe.

    Args:
        comparisons: that will be adjusted together, at least 1.
    """
    return 1 - (1 - level) / comparisons


def unpaired_size(first: float, second: float, level: float, power: float) -> float:
    """Items that each of two targets needs if each has items of its own."""
    middle = (first + second) / 2
    null = sqrt(2 * middle * (1 - middle))
    return _size(abs(first - second), null, sqrt(first * (1 - first) + second * (1 - second)), level, power)


def paired_size(difference: float, differing: float, level: float, power: float) -> float:
    """Items that two targets need if both have the same.

    Args:
        difference: of their shares of ones.
        differing: the share of items on which they differ, at least |difference|.
    """
    alternative = sqrt(max(0.0, differing - difference**2))
    return _size(abs(difference), sqrt(differing), alternative, level, power) + 1 / abs(difference)


def smallest_difference(size: Callable[[float], float], items: float, greatest: float) -> float | None:
    """The smallest difference for which so many items are enough; None: they are not enough for the greatest.

    Args:
        size: items that a difference needs; falls as it grows.
        items: independent ones, or as many as clustered ones are worth.
        greatest: the greatest difference possible.
    """
    from scipy.optimize import brentq

    if greatest <= _LEAST or size(greatest) > items:
        return None
    return float(brentq(lambda difference: size(difference) - items, _LEAST, greatest))


def _size(difference: float, null: float, alternative: float, level: float, power: float) -> float:
    """Items, from the standard deviations that one item has under the null hypothesis and under the alternative."""
    from scipy.special import ndtri

    return float((ndtri((1 + level) / 2) * null + ndtri(power) * alternative) ** 2 / difference**2)


def unpaired(share: float, level: float, power: float) -> Design:
    """Other items for each target."""
    return Design("others for each", lambda higher: unpaired_size(share, higher, level, power), 1.0)


def with_discordance(share: float, differing: float, level: float, power: float) -> Design:
    """The same items, on a known share of which the targets differ; at most 2 · min(share, 1 − share)."""
    return Design(
        "the same for both",
        lambda higher: paired_size(higher - share, differing, level, power),
        min(share + differing, 2 - differing - share),
        lambda _: differing,
    )


def with_correlation(share: float, correlation: float, level: float, power: float) -> Design:
    """The same items; the targets' scores have a known correlation (phi) in [0, 1).

    Shares that are too far apart cannot have it: at most, all that the lower target scores on the higher one does too.
    """

    def differing(higher: float) -> float:
        return discordance(share, higher, correlation)

    odds = share / (1 - share) / max(correlation, 1e-6) ** 2
    return Design(
        f"the same for both, correlation {correlation:g}",
        lambda higher: paired_size(higher - share, differing(higher), level, power),
        odds / (1 + odds),
        differing,
    )
