"""Arms as tables and figures show them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from cfeval.errors import InputError
from cfeval.records.edct import Arm, Score

NAMES = tuple(Arm.model_fields)
HEADINGS = {
    "dataset": "Data set",
    "vlm": "Target",
    "writer": "Writer",
    "protocol": "Protocol",
    "editor": "Editor",
    "judge": "Judge",
}


def arm_of(row: Arm) -> Arm:
    """The arm of a score or table row."""
    return Arm(**{name: getattr(row, name) for name in NAMES})


def label(arm: Arm) -> str:
    """All names of an arm, as in the paths of its files: the same whichever arms stand beside it."""
    return "/".join(getattr(arm, name) for name in NAMES)


def varying(arms: Sequence[Arm], always: str = "vlm") -> list[str]:
    """The names by which these arms differ, and `always`."""
    return [name for name in NAMES if name == always or len({getattr(arm, name) for arm in arms}) > 1]


def short_labels(arms: Sequence[Arm]) -> list[str]:
    """For each arm, the names that tell it from the others."""
    names = sorted(varying(arms), key=lambda name: name != "vlm")
    return [" · ".join(getattr(arm, name) for name in names) for arm in arms]


def by_arm(scores: Iterable[Score]) -> dict[Arm, list[Score]]:
    """Scores grouped by arm, each group in the order of its ids, however they were cut into files.

    Raises:
        InputError: an item and edit of an arm appears twice.
    """
    found: dict[Arm, dict[tuple[str, int], Score]] = defaultdict(dict)
    for score in scores:
        rows = found[arm_of(score)]
        if (score.id, score.edit) in rows:
            where = f"item '{score.id}', edit {score.edit} of {label(score)}"
            raise InputError(f"two score rows for {where}; give each file once")
        rows[score.id, score.edit] = score
    return {arm: [rows[key] for key in sorted(rows)] for arm, rows in found.items()}


def scores_of(arm: Arm, grouped: dict[Arm, list[Score]]) -> list[Score]:
    """The scores of an arm that a table shows.

    Raises:
        InputError: there are none.
    """
    if arm not in grouped:
        raise InputError(f"no scores of the arm {label(arm)}; give its score files, or take the arm out of the table")
    return grouped[arm]
