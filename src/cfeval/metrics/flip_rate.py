"""Flip rate FR: how often does the decision change? (Jeanneret et al. 2022, DiME; 2023, ACE)"""

from collections.abc import Sequence


def flip_rate(before: Sequence[str], after: Sequence[str]) -> float:
    """The share of counterfactuals, in [0, 1], of which the classifier says something else than of their originals.

    With two classes this is the target accuracy of the images that were not in the target class to begin with; with
    more it also counts what flipped to a class that nobody asked for.

    Args:
        before, after: what the classifier says of each original and of its counterfactual, at least one.
    """
    return sum(one != other for one, other in zip(before, after, strict=True)) / len(before)
