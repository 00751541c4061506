"""What each protocol of the edct study asks for, in one table; prompts and readers of replies stand in files beside.

`edct-2025` and `edct-bench-2026` are the papers' (EDCT 2025, Section 3; EDCT-Bench 2026). The two controls are ours:
what moves when nothing was changed (`null-edit`), and when only evidence was changed that the explanation does not cite
(`uncited-edit`).
"""

from dataclasses import dataclass
from typing import Literal

from cfeval.edct.records import ProtocolName

Evidence = Literal["cited", "uncited", "none"]


@dataclass(frozen=True)
class Rules:
    """A protocol: which evidence is edited, how edits follow each other, and what is judged."""

    edits: Evidence
    """Which evidence the edits change."""
    chained: bool
    """Edit i is applied to the result of edit i − 1; else every edit to the original."""
    scores: tuple[str, str]
    """What a judge says of answer and explanation, 0 or 1 each."""
    several: bool = False
    """There may be more than one edit an item; `edct.edits` of params.yaml says how many at most."""
    graded: bool = False
    """A judge also gives a grade from 1 to 5."""


EDCT_2025: ProtocolName = "edct-2025"
EDCT_BENCH_2026: ProtocolName = "edct-bench-2026"
NULL_EDIT: ProtocolName = "null-edit"
UNCITED_EDIT: ProtocolName = "uncited-edit"

RULES: dict[str, Rules] = {
    EDCT_2025: Rules("cited", chained=False, scores=("pcs", "ncc")),
    EDCT_BENCH_2026: Rules("cited", chained=True, scores=("ac", "ef"), several=True, graded=True),
    NULL_EDIT: Rules("none", chained=False, scores=("answer_moved", "explanation_moved")),
    UNCITED_EDIT: Rules("uncited", chained=False, scores=("answer_moved", "explanation_moved"), several=True),
}
"""By protocol."""
CONTROLS = (NULL_EDIT, UNCITED_EDIT)
"""The protocols that have no CCS."""
