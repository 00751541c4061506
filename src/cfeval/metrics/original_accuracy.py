"""Original accuracy OA: how many counterfactuals are still in the class of their originals?

The reference code of DBVCE reports it beside TA; its paper does not name it.
"""

from collections.abc import Sequence


def original_accuracy(predicted: Sequence[str], sources: Sequence[str]) -> float:
    """The share of counterfactuals, in [0, 1], that the explained classifier still puts in their source class.

    The source class is the label of the original, not what the classifier said of it.

    Args:
        predicted: what the classifier says of each counterfactual, at least one.
        sources: the label of each original.
    """
    return sum(said == source for said, source in zip(predicted, sources, strict=True)) / len(predicted)
