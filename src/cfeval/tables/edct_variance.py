"""Where the variance of CCS comes from: writer, editor, judge, re-sampling, item, on one set of items.

Arms of one target are a crossed design. A target that params.yaml names twice, with another `repeat`, is the same target
asked again: what differs between the two is re-sampling.
"""

from collections import defaultdict
from collections.abc import Sequence

from cfeval.records.edct import Arm
from cfeval.records.tables import VarianceRow
from cfeval.stats.variance import variance_split
from cfeval.tables.formats import Sheet, cell
from cfeval.tables.items import DECIMALS, values
from cfeval.tables.material import Material

ROW = VarianceRow
FACTORS = ("writer", "editor", "judge")
NO_ARM_NOTE = "Empty: params.yaml names no arm for this table (edct.tables.variance)."
_HEADINGS = ("Protocol", "Target", "Source", "Levels", "Variance", "Share", "Note")
_READING = (
    "Variance components of CCS on the linear scale (MIVQUE(0)), as shares of their sum. Residual: what sources do only "
    "together. A component from two levels describes these two and is a poor guide to others."
)


def rows(arms: Sequence[Arm], material: Material) -> list[VarianceRow]:
    """For each data set, protocol and target a row a source; InputError where an arm has no scores."""
    designs: dict[tuple[str, str, str], list[Arm]] = defaultdict(list)
    for arm in dict.fromkeys(arms):
        designs[arm.dataset, arm.protocol, material.repeats.get(arm.vlm, arm.vlm)].append(arm)
    return [row for names, of in designs.items() for row in _rows(names, of, material)]


def sheet(of: Sequence[VarianceRow]) -> Sheet:
    """The table for readers."""
    body = tuple(
        (row.protocol, row.target, row.source, str(row.levels), cell(row.variance), cell(row.share), row.note)
        for row in of
    )
    return Sheet(
        "edct_variance", "Where the variance of CCS comes from", _HEADINGS, body, (_READING if of else NO_ARM_NOTE,)
    )


def _rows(names: tuple[str, str, str], arms: Sequence[Arm], material: Material) -> list[VarianceRow]:
    told = [(arm, value) for arm in arms for value in values(material.of(arm), "ccs")]
    if not told:
        return []
    factors = {name: [getattr(arm, name) for arm, _ in told] for name in FACTORS}
    split = variance_split([value.value for _, value in told], factors | {"item": [value.item for _, value in told]})
    dataset, protocol, target = names
    return [
        VarianceRow(
            dataset=dataset,
            protocol=protocol,
            target=target,
            source=part.source,
            levels=part.levels,
            variance=None if part.variance is None else round(part.variance, DECIMALS),
            share=None if part.share is None else round(part.share, DECIMALS),
            n=len(told),
            note=part.note,
        )
        for part in split
    ]
