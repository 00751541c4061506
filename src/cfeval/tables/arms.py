"""Arms as tables and figures show them."""

from collections.abc import Iterable, Sequence

from cfeval.errors import InputError
from cfeval.records.edct import Arm
from cfeval.tables.formats import varying

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


def arms_under(arms: Iterable[Arm], table: str, *protocols: str) -> list[Arm]:
    """The arms, each once.

    Raises:
        InputError: one is under another protocol, whose scores must not stand in the same column.
    """
    for arm in arms:
        if arm.protocol not in protocols:
            allowed = " or ".join(protocols)
            raise InputError(f"the table {table} is of {allowed}; the arm {label(arm)} belongs in another table")
    return list(dict.fromkeys(arms))


def short_labels(arms: Sequence[Arm]) -> list[str]:
    """For each arm, the names that tell it from the others."""
    names = sorted(varying(arms, NAMES), key=lambda name: name != "vlm")
    return [" · ".join(getattr(arm, name) for name in names) for arm in arms]
