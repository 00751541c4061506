"""A committee of oracles: its mean, and its majority (DBVCE, Section 5: several oracles, or one made of them)."""

from collections.abc import Mapping, Sequence

from cfeval.metrics.oracle_score import oracle_score


def committee_mean(oracles: Mapping[str, Sequence[str]], wanted: Sequence[str]) -> float:
    """The mean share of the counterfactuals, in [0, 1], that an oracle puts in the class `wanted`.

    Args:
        oracles: what each oracle says of each counterfactual, by its name; at least one of each.
        wanted: the target classes, for OTA, or what the explained classifier says, for OS.
    """
    return sum(oracle_score(wanted, said) for said in oracles.values()) / len(oracles)


def committee_majority(oracles: Mapping[str, Sequence[str]], wanted: Sequence[str]) -> float:
    """The share of counterfactuals, in [0, 1], that more than half of the oracles put in the class `wanted`.

    Args:
        oracles, wanted: as for `committee_mean`.
    """
    votes = [
        sum(said == name for said in row) for name, row in zip(wanted, zip(*oracles.values(), strict=True), strict=True)
    ]
    return sum(2 * count > len(oracles) for count in votes) / len(votes)
