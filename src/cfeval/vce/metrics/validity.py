"""Target accuracy TA: does the classifier put counterfactuals in the class they aim at? (DBVCE, Section 3.1)

Oracle target accuracy OTA: does another classifier see the target class? (DBVCE, Section 3.1)

Original accuracy OA: how many counterfactuals are still in the class of their originals?

The reference code of DBVCE reports it beside TA; its paper does not name it.

Oracle score OS: does another classifier see what the explained one sees?

Hvilshøj et al. 2021, "On Quantitative Evaluations of Counterfactuals"; DBVCE, Section 3.1.

Flip rate FR: how often does the decision change? (Jeanneret et al. 2022, DiME; 2023, ACE)

A committee of oracles: its mean, and its majority (DBVCE, Section 5: several oracles, or one made of them).
"""

from collections.abc import Mapping, Sequence


def target_accuracy(predicted: Sequence[str], targets: Sequence[str]) -> float:
    """The share of counterfactuals, in [0, 1], that the explained classifier puts in their target class.

    Args:
        predicted: what the classifier says of each counterfactual, at least one.
        targets: the class that each aims at.
    """
    return sum(said == target for said, target in zip(predicted, targets, strict=True)) / len(predicted)


def oracle_target_accuracy(oracle: Sequence[str], targets: Sequence[str]) -> float:
    """The share of counterfactuals, in [0, 1], that an oracle puts in their target class.

    It does not ask what the explained classifier says of them.

    Args:
        oracle: what the oracle says of each counterfactual, at least one.
        targets: the class that each aims at.
    """
    return sum(said == target for said, target in zip(oracle, targets, strict=True)) / len(oracle)


def original_accuracy(predicted: Sequence[str], sources: Sequence[str]) -> float:
    """The share of counterfactuals, in [0, 1], that the explained classifier still puts in their source class.

    The source class is the label of the original, not what the classifier said of it.

    Args:
        predicted: what the classifier says of each counterfactual, at least one.
        sources: the label of each original.
    """
    return sum(said == source for said, source in zip(predicted, sources, strict=True)) / len(predicted)


def oracle_score(predicted: Sequence[str], oracle: Sequence[str]) -> float:
    """The share of counterfactuals, in [0, 1], that an oracle puts in the same class as the explained classifier.

    Agreement counts whatever the class: also that a counterfactual is not in its target class.

    Args:
        predicted, oracle: what the explained classifier and the oracle say of each counterfactual, at least one.
    """
    return sum(one == other for one, other in zip(predicted, oracle, strict=True)) / len(predicted)


def flip_rate(before: Sequence[str], after: Sequence[str]) -> float:
    """The share of counterfactuals, in [0, 1], of which the classifier says something else than of their originals.

    With two classes this is the target accuracy of the images that were not in the target class to begin with; with
    more it also counts what flipped to a class that nobody asked for.

    Args:
        before, after: what the classifier says of each original and of its counterfactual, at least one.
    """
    return sum(one != other for one, other in zip(before, after, strict=True)) / len(before)


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
    rows: list[tuple[str, ...]] = list(zip(wanted, *oracles.values(), strict=True))
    return sum(2 * row[1:].count(row[0]) > len(oracles) for row in rows) / len(rows)
