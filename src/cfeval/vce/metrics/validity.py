"""Is a counterfactual what it should be? What the explained classifier says of it, and what oracles say.

All are shares of counterfactuals, in [0, 1] (DBVCE, Sections 3.1 and 5; OA as in its code, FR as in DiME and ACE).
"""

from collections.abc import Mapping, Sequence


def target_accuracy(predicted: Sequence[str], targets: Sequence[str]) -> float:
    """Target accuracy TA: the share that the explained classifier puts in their target class (DBVCE, Section 3.1).

    Args:
        predicted: what the classifier says of each counterfactual, at least one.
        targets: the class that each aims at.
    """
    return _alike(predicted, targets)


def oracle_target_accuracy(oracle: Sequence[str], targets: Sequence[str]) -> float:
    """Oracle target accuracy OTA: the share that an oracle puts in their target class (DBVCE, Section 3.1).

    It does not ask what the explained classifier says of them.

    Args:
        oracle: what the oracle says of each counterfactual, at least one.
        targets: the class that each aims at.
    """
    return _alike(oracle, targets)


def original_accuracy(predicted: Sequence[str], sources: Sequence[str]) -> float:
    """Original accuracy OA: the share that the explained classifier still puts in their source class.

    The reference code of DBVCE reports it beside TA; its paper does not name it. The source class is the label of the
    original, not what the classifier said of it.

    Args:
        predicted: what the classifier says of each counterfactual, at least one.
        sources: the label of each original.
    """
    return _alike(predicted, sources)


def oracle_score(predicted: Sequence[str], oracle: Sequence[str]) -> float:
    """Oracle score OS: the share that an oracle puts in the same class as the explained classifier.

    Agreement counts whatever the class: also that a counterfactual is not in its target class. Source: Hvilshøj et al.
    2021, "On Quantitative Evaluations of Counterfactuals"; DBVCE, Section 3.1.

    Args:
        predicted, oracle: what the explained classifier and the oracle say of each counterfactual, at least one.
    """
    return _alike(predicted, oracle)


def flip_rate(before: Sequence[str], after: Sequence[str]) -> float:
    """Flip rate FR: the share of which the classifier says something else than of their originals.

    With two classes this is the target accuracy of the images that were not in the target class to begin with; with
    more it also counts what flipped to a class that nobody asked for. Source: Jeanneret et al. 2022 (DiME), 2023 (ACE).

    Args:
        before, after: what the classifier says of each original and of its counterfactual, at least one.
    """
    return sum(seen != predicted for seen, predicted in zip(before, after, strict=True)) / len(before)


def conditional_validity(
    predicted: Sequence[str], oracles: Mapping[str, Sequence[str]], targets: Sequence[str]
) -> float | None:
    """P(oracles see the target | the classifier does): 1 minus the share of adversarial examples among valid ones.

    The mean over oracles of the share of those counterfactuals that the explained classifier puts in their target
    class. Unlike OTA it does not fall where the classifier itself sees no target. None where it never sees one.

    Args:
        predicted: what the explained classifier says of each counterfactual.
        oracles: what each oracle says of each, by its name; at least one oracle.
        targets: the class that each aims at.
    """
    valid = [place for place, (reply, target) in enumerate(zip(predicted, targets, strict=True)) if reply == target]
    if not valid:
        return None
    return committee_mean(
        {name: [replies[place] for place in valid] for name, replies in oracles.items()},
        [targets[place] for place in valid],
    )


def misread(before: Sequence[str], sources: Sequence[str]) -> float:
    """The share of originals that the classifier puts in another class than their own before anything is changed.

    A counterfactual of such an image explains no decision for the source class.

    Args:
        before: what the classifier says of each original, at least one.
        sources: the label of each original.
    """
    return 1 - _alike(before, sources)


def committee_mean(oracles: Mapping[str, Sequence[str]], wanted: Sequence[str]) -> float:
    """The mean share that an oracle of a committee puts in the class `wanted` (DBVCE, Section 5: several oracles).

    Args:
        oracles: what each oracle says of each counterfactual, by its name; at least one of each.
        wanted: the target classes, for OTA, or what the explained classifier says, for OS.
    """
    return sum(_alike(wanted, replies) for replies in oracles.values()) / len(oracles)


def committee_majority(oracles: Mapping[str, Sequence[str]], wanted: Sequence[str]) -> float:
    """The share that more than half of the oracles put in the class `wanted` (DBVCE, Section 5: one made of them).

    Args:
        oracles, wanted: as for `committee_mean`.
    """
    rows: list[tuple[str, ...]] = list(zip(wanted, *oracles.values(), strict=True))
    return sum(2 * row[1:].count(row[0]) > len(oracles) for row in rows) / len(rows)


def _alike(replies: Sequence[str], wanted: Sequence[str]) -> float:
    return sum(reply == name for reply, name in zip(replies, wanted, strict=True)) / len(replies)
