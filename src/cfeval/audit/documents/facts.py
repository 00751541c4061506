"""What a finished study says of itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfeval.audit.bundle.about import called, revision
from cfeval.config import Params
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_csv
from cfeval.edct.config import Edct
from cfeval.edct.tables.faithfulness import CardRow, FaithfulnessRow

_CARD, _FAITHFULNESS = "edct_card.csv", "edct_faithfulness.csv"


@dataclass(frozen=True)
class Facts:
    """What a finished study says of itself."""

    params: Params
    study: Edct
    root: str
    cards: Sequence[CardRow]
    rows: Sequence[FaithfulnessRow]
    calls: Sequence[dict[str, Any]]
    """Models outside that were called; see `cfeval.audit.bundle.about.called`."""
    revision: dict[str, Any]


def facts(params: Params, root: str) -> Facts:
    """What a finished study says of itself.

    Raises:
        InputError: it has no edct, its tables are not made, or no table has a trust card.
    """
    if params.edct is None:
        raise InputError("the study has no edct, which alone these documents are about")
    folder = Path(root, "edct")
    files = [folder / "tables" / _CARD, folder / "tables" / _FAITHFULNESS, folder / "calls" / "calls.zip"]
    if lost := next((file for file in files if not file.is_file()), None):
        raise InputError(f"{lost}: not made yet; run the study to its end, with controls, first")
    cards = list(read_csv(files[0], CardRow))
    if not cards:
        raise InputError(f"{files[0]}: has no row; name conditions in edct.tables.controls, and run the study again")
    rows = list(read_csv(files[1], FaithfulnessRow))
    return Facts(params, params.edct, root, cards, rows, list(called([str(files[2])])), revision())
