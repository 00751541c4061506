"""Diversity: how different are several counterfactuals of one image? (DBVCE, Section 3.4, which proposes pairwise
LPIPS over seeds and does not measure it)"""

from collections.abc import Sequence
from itertools import combinations


def repeat_pairs(repeats: int) -> list[tuple[int, int]]:
    """All pairs of different repeats: (0, 1), (0, 2), …"""
    return list(combinations(range(repeats), 2))


def diversity(distances: Sequence[Sequence[float]]) -> float:
    """The mean over images of the mean distance between counterfactuals of an image; 0 where none differ.

    The unit is that of the distance. Every image counts the same, however many of its counterfactuals there are.

    Args:
        distances: for each image those of its pairs (`repeat_pairs`), at least one; at least one image.
    """
    return sum(sum(pairs) / len(pairs) for pairs in distances) / len(distances)
