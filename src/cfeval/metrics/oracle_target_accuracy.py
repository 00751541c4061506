"""Oracle target accuracy OTA: does another classifier see the target class? (DBVCE, Section 3.1)"""

from collections.abc import Sequence


def oracle_target_accuracy(oracle: Sequence[str], targets: Sequence[str]) -> float:
    """The share of counterfactuals, in [0, 1], that an oracle puts in their target class.

    It does not ask what the explained classifier says of them.

    Args:
        oracle: what the oracle says of each counterfactual, at least one.
        targets: the class that each aims at.
    """
    return sum(said == target for said, target in zip(oracle, targets, strict=True)) / len(oracle)
