"""A figure with its interval: what every function of this package that estimates something returns."""

from dataclasses import dataclass, replace

DECIMALS = 4
"""What tables show; figures rounded to it are the same on any machine."""


@dataclass(frozen=True)
class Estimate:
    """A figure, the interval around it, and how that came about. What cannot be told is None, never 0 or 1."""

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = ""
    """How the interval was computed, and its nominal coverage: `clustered percentile bootstrap 95 %`. It is the method
    that was really used, which may differ from the one that was asked for."""
    n: int = 0
    """How many items it rests on."""
    note: str = ""
    """What a reader must know: why there is no figure or no interval, or what it leaves out."""

    def rounded(self) -> "Estimate":
        """The same with figures of `DECIMALS` decimals."""
        value, low, high = (None if x is None else round(x, DECIMALS) + 0.0 for x in (self.value, self.low, self.high))
        return replace(self, value=value, low=low, high=high)


def described(method: str, level: float, clustered: bool = False) -> str:
    """A method's name for a table: `clustered percentile bootstrap 95 %`."""
    return f"{'clustered ' if clustered else ''}{method} {level * 100:g} %"
