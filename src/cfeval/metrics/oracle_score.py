"""Oracle score OS: does another classifier see what the explained one sees?

Hvilshøj et al. 2021, "On Quantitative Evaluations of Counterfactuals"; DBVCE, Section 3.1.
"""

from collections.abc import Sequence


def oracle_score(predicted: Sequence[str], oracle: Sequence[str]) -> float:
    """The share of counterfactuals, in [0, 1], that an oracle puts in the same class as the explained classifier.

    Agreement counts whatever the class: also that a counterfactual is not in its target class.

    Args:
        predicted, oracle: what the explained classifier and the oracle say of each counterfactual, at least one.
    """
    return sum(one == other for one, other in zip(predicted, oracle, strict=True)) / len(predicted)
