"""What a finished study says of itself."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfeval.config import Params
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_csv
from cfeval.edct.config import Edct
from cfeval.edct.pairs.table import PairRow
from cfeval.edct.tables.card import CardRow
from cfeval.edct.tables.faithfulness import FaithfulnessRow
from cfeval_audit.bundle.contents import called, revision

_CARD, _FAITHFULNESS, _PAIRS, _CALLS = "edct_card.csv", "edct_faithfulness.csv", "edct_pairs.csv", "calls.zip"


@dataclass(frozen=True)
class Facts:
    """What a finished study says of itself."""

    params: Params
    study: Edct
    root: str
    cards: Sequence[CardRow]
    rows: Sequence[FaithfulnessRow]
    pairs: Sequence[PairRow]
    """Given pairs: a row for each condition, over all kinds of change."""
    calls: Sequence[dict[str, Any]]
    """Models outside that were called; see `cfeval_audit.bundle.about.called`."""
    revision: dict[str, Any]


def facts(params: Params, root: str) -> Facts:
    """What a finished study says of itself.

    Raises:
        InputError: it has no edct, its tables are not made, or it has neither trust cards nor given pairs.
    """
    if params.edct is None:
        raise InputError("the study has no edct, which alone these documents are about")
    folder, given = Path(root, "edct"), bool(params.edct.pairs)
    carded = bool(params.edct.tables.conditions("controls")) or not given
    tables = [name for name, wanted in ((_CARD, carded), (_FAITHFULNESS, carded), (_PAIRS, given)) if wanted]
    files = {name: folder / "tables" / name for name in tables} | {_CALLS: folder / "calls" / _CALLS}
    if lost := next((file for file in files.values() if not file.is_file()), None):
        raise InputError(f"{lost}: not made yet; run the study to its end, with controls, first")
    cards = list(read_csv(files[_CARD], CardRow)) if carded else []
    pairs = [row for row in read_csv(files[_PAIRS], PairRow) if not row.kind] if given else []
    if not cards and not pairs:
        raise InputError(f"{files[tables[0]]}: has no row; name conditions in params.yaml, and run the study again")
    rows = list(read_csv(files[_FAITHFULNESS], FaithfulnessRow)) if carded else []
    return Facts(params, params.edct, root, cards, rows, pairs, list(called([str(files[_CALLS])])), revision())


def as_json(options: Any) -> str:
    """Parameters as JSON, the same text for the same content."""
    return json.dumps(options, sort_keys=True, ensure_ascii=False)
