"""Target accuracy TA: does the classifier put counterfactuals in the class they aim at? (DBVCE, Section 3.1)"""

from collections.abc import Sequence


def target_accuracy(predicted: Sequence[str], targets: Sequence[str]) -> float:
    """The share of counterfactuals, in [0, 1], that the explained classifier puts in their target class.

    Args:
        predicted: what the classifier says of each counterfactual, at least one.
        targets: the class that each aims at.
    """
    return sum(said == target for said, target in zip(predicted, targets, strict=True)) / len(predicted)
