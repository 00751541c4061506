"""Where the variance of CCS comes from: writer, editor, judge, re-sampling, item, on one set of items.

Arms of one target are a crossed design. A target that params.yaml names twice, with another `repeat`, is the same
target asked again: what differs between the two is re-sampling.
"""

from collections import defaultdict
from collections.abc import Sequence

from cfeval.records.edct import Arm
from cfeval.records.edct_tables import VarianceRow
from cfeval.stats.variance import variance_split
from cfeval.tables.arms import HEADINGS
from cfeval.tables.formats import Sheet, Table, cell, varying
from cfeval.tables.items import Figures, missing, n_items, rounded, values
from cfeval.tables.material import Material

FACTORS = ("writer", "editor", "judge")
NO_ARM_NOTE = "Empty: params.yaml names no arm for this table (edct.tables.variance), or none has a score."
_TITLE = "Where the variance of CCS comes from"
_HEADINGS = ("Target", "Source", "Levels", "Variance", "Share", "Scored", "Note", "Missing")
_READING = (
    "Variance components of CCS on the linear scale (MIVQUE(0)), as shares of their sum. Residual: what sources do "
    "only together. A component from two levels describes these two and is a poor guide to others."
)


def rows(arms: Sequence[Arm], material: Material) -> list[VarianceRow]:
    """For each data set, protocol and target a row a source; InputError where an arm has no scores."""
    designs: dict[tuple[str, str, str], list[Arm]] = defaultdict(list)
    for arm in dict.fromkeys(arms):
        designs[arm.dataset, arm.protocol, material.repeats.get(arm.vlm, arm.vlm)].append(arm)
    return [row for names, of in designs.items() for row in _rows(names, of, material)]


def sheet(of: Sequence[VarianceRow]) -> Sheet:
    """The table for readers."""
    names = varying(of, ("dataset", "protocol"), ("protocol",))
    headings = (*(HEADINGS[name] for name in names), *_HEADINGS)
    body = tuple((*(getattr(row, name) for name in names), *_cells(row)) for row in of)
    return Sheet("edct_variance", _TITLE, headings, body, (_READING if of else NO_ARM_NOTE,))


def _rows(names: tuple[str, str, str], arms: Sequence[Arm], material: Material) -> list[VarianceRow]:
    told = [(arm, value) for arm in arms for value in values(material.of(arm), "ccs")]
    if not told:
        return []
    factors = {name: [getattr(arm, name) for arm, _ in told] for name in FACTORS}
    split = variance_split([value.value for _, value in told], factors | {"item": [value.item for _, value in told]})
    every = [material.of(arm) for arm in arms]
    shared: Figures = dict(zip(("dataset", "protocol", "target"), names, strict=True))
    shared |= {"n": sum(map(n_items, every)), "n_scored": len(told)}
    shared |= {"missing": missing(score for scores in every for score in scores)}
    return [
        VarianceRow.model_validate(
            shared
            | {"source": part.source, "levels": part.levels, "note": part.note}
            | {"variance": rounded(part.variance), "share": rounded(part.share)}
        )
        for part in split
    ]


def _cells(row: VarianceRow) -> list[str]:
    return [
        *(row.target, row.source, str(row.levels), cell(row.variance), cell(row.share)),
        *(f"{row.n_scored} of {row.n}", row.note, row.missing),
    ]


TABLE = Table(row=VarianceRow, rows=rows, sheet=sheet)
