"""Ways to compare two targets, and the items each asks for: items of their own, or the same items for both."""

from collections.abc import Callable
from dataclasses import dataclass

from cfeval.stats.power import discordance, paired_size, smallest_difference, unpaired_size


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
