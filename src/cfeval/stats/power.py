"""How many items two shares need to be told apart, and what difference a number of items can show.

Normal approximation, two-sided. Two samples: Fleiss, Levin and Paik 2003, Section 4.2, without continuity correction.
The same items for both (McNemar's test): Miettinen 1968; Connor 1987. `level` is in (0, 1), `power` in [.5, 1).
"""

from collections.abc import Callable
from math import sqrt

_LEAST = 1e-6


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
    return _size(abs(difference), sqrt(differing), alternative, level, power)


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
