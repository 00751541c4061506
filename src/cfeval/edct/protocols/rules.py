"""What each protocol of the edct study asks for, in one table; prompts and readers of replies stand in files beside.

`edct-2025` and `edct-bench-2026` are the papers' (EDCT 2025, Section 3; EDCT-Bench 2026). The controls are ours: what
moves when nothing was changed (`null-edit`), nor by the editor that makes the edits (`editor-null`), when only evidence
was changed that the explanation does not cite (`uncited-edit`: objects, and the background), and when nothing is left
to see (`blank-image`).
"""

from dataclasses import dataclass
from typing import Literal

from cfeval.edct.records import ProtocolName

Evidence = Literal["cited", "uncited", "all", "none", "nothing"]


@dataclass(frozen=True)
class Rules:
    """A protocol: which evidence is edited, how edits follow each other, and what is judged."""

    edits: Evidence
    """Which evidence the edits change: `all` takes the whole image away, `none` encodes it again, and `nothing` has the
    editor pass it on as it is."""
    chained: bool
    """Edit i is applied to the result of edit i − 1; else every edit to the original."""
    scores: tuple[str, str]
    """What a judge says of answer and explanation, 0 or 1 each."""
    several: bool = False
    """There may be more than one edit an item; `edct.edits` of params.yaml says how many at most."""
    graded: bool = False
    """A judge also gives a grade from 1 to 5."""

    @property
    def written(self) -> bool:
        """Whether there are instructions, which somebody writes, carries out and verifies."""
        return self.edits in ("cited", "uncited")

    @property
    def edited(self) -> bool:
        """Whether an editor makes the images."""
        return self.written or self.edits == "nothing"


EDCT_2025: ProtocolName = "edct-2025"
EDCT_BENCH_2026: ProtocolName = "edct-bench-2026"
PAIRS_2026 = "pairs-2026"
NULL_EDIT: ProtocolName = "null-edit"
EDITOR_NULL: ProtocolName = "editor-null"
UNCITED_EDIT: ProtocolName = "uncited-edit"
BLANK_IMAGE: ProtocolName = "blank-image"

# By protocol.
RULES: dict[str, Rules] = {
    EDCT_2025: Rules("cited", chained=False, scores=("pcs", "ncc")),
    EDCT_BENCH_2026: Rules("cited", chained=True, scores=("ac", "ef"), several=True, graded=True),
    NULL_EDIT: Rules("none", chained=False, scores=("answer_moved", "explanation_moved")),
    EDITOR_NULL: Rules("nothing", chained=False, scores=("answer_moved", "explanation_moved")),
    UNCITED_EDIT: Rules("uncited", chained=False, scores=("answer_moved", "explanation_moved")),
    BLANK_IMAGE: Rules("all", chained=False, scores=("answer_moved", "explanation_moved")),
}
# Evidence whose edits should leave the answer: where it changed, the target is asked again.
REPEATABLE: tuple[Evidence, ...] = ("uncited", "none", "nothing")
# The kinds of evidence that an explanation may leave out: things, of which some are drawn by lot, and what all stands
# before or on.
UNCITED = ("object", "background")
# The most things of which a writer names an edit each, so that some can be drawn from them by lot.
LISTED = 6
# What a writer says where an edit does not change the answer that follows from the explanation.
SAME = "SAME"
# The protocols that have no CCS.
CONTROLS = (NULL_EDIT, EDITOR_NULL, UNCITED_EDIT, BLANK_IMAGE)


def edits_of(protocol: str, most: int, objects: int) -> int:
    """How many edits of an explanation are made under a protocol, at most.

    Args:
        most: what params.yaml allows where the protocol does not say.
        objects: how many uncited objects are drawn; the background comes on top.
    """
    if RULES[protocol].edits == "uncited":
        return objects + 1
    return most if RULES[protocol].several else 1


def objects_drawn(items: int) -> int:
    """How many uncited objects of an item are edited in a study of so many items, where params.yaml does not say."""
    return 3 if items <= 90 else 2 if items <= 250 else 1


def listed(protocol: str, most: int) -> int:
    """How many edits a writer may name under a protocol; `most` as for `edits_of`."""
    if RULES[protocol].edits == "uncited":
        return LISTED + 1
    return LISTED if protocol == EDCT_2025 else edits_of(protocol, most, 0)
