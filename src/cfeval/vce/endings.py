"""How a counterfactual ends for the classifier that is explained: the one rule of tables, pages and command line."""

from collections.abc import Collection, Mapping
from typing import Literal, get_args

from cfeval.core.records import Status
from cfeval.vce.config import Roles
from cfeval.vce.records import VceScore

Ending = Literal["valid", "alone", "taken", "not", "misread", "missing"]
"""`valid`: the classifier sees the target class, and so do most oracles. `alone`: most oracles do not. `taken`: it sees
it, and no oracle was asked. `not`: it does not see it. `misread`: it puts the original itself into another class, so
that the change explains nothing. `missing`: there is no image, or no score."""
ENDINGS: tuple[Ending, ...] = get_args(Ending)
FLIPPED: tuple[Ending, ...] = ("valid", "alone", "taken")
"""Those in which the classifier sees the target class."""


def ending(
    status: Status,
    predicted: str | None,
    target: str,
    replies: Mapping[str, str],
    counted: Collection[str],
    misread: bool,
) -> Ending:
    """How a counterfactual ends.

    Args:
        status: of its score.
        predicted: the class that the explained classifier puts it into.
        target: the class that it should show.
        replies: the class that each oracle puts it into, by the oracle's name.
        counted: the oracles that count (`Roles.witnesses`).
        misread: whether the classifier puts the original into another class than its own.
    """
    if status != Status.OK:
        return "missing"
    if misread:
        return "misread"
    if predicted != target:
        return "not"
    seen = [replies[name] == target for name in counted if name in replies]
    return "taken" if not seen else "valid" if 2 * sum(seen) > len(seen) else "alone"


def ending_of(score: VceScore | None, classifier: str, roles: Roles) -> Ending:
    """How the counterfactual of a score ends; no score is `missing`."""
    if score is None:
        return "missing"
    misread = score.p_source is not None and score.before != score.source
    return ending(
        score.status,
        score.predicted,
        score.target,
        score.oracles,
        counted=roles.witnesses(classifier, score.oracles),
        misread=misread and roles.of_classifier(classifier) != "random",
    )
