"""The released rules and the better reader on the same replies."""

from collections.abc import Sequence

from cfeval.records.common import Status
from cfeval.records.cvqa import SIDES, CvqaArm, Side
from cfeval.records.cvqa_tables import ReadersRow
from cfeval.tables.arm_sheet import intervals, with_interval
from cfeval.tables.cvqa_accuracy import mark, named, world
from cfeval.tables.cvqa_items import difference_of, in_short, kinds, missing, of_kind, paired
from cfeval.tables.cvqa_material import CvqaMaterial, Reply
from cfeval.tables.formats import Sheet, Table
from cfeval.tables.items import Figures, Value, estimate, figures_of, ways

EMPTY = "Empty: nobody answered anything."
NOTE = (
    "Every reply, in whatever order options were shown. Reference: the released rules; robust: a reader that leaves "
    "unread what is not clear. Unread replies count as wrong. Disagree: both read the reply, differently."
)


def rows(material: CvqaMaterial) -> list[ReadersRow]:
    """A row for each arm, type and side."""
    return [
        ReadersRow.model_validate(_figures(material, arm, kind, side))
        for arm, replies in material.scores.items()
        for kind in kinds(replies)
        for side in SIDES
    ]


def sheet(of: Sequence[ReadersRow]) -> Sheet:
    """The table for readers."""
    headings = (
        *("Set", "Answerer", "Type", "Side", "Reference", "Robust", "Difference", "Unread", "Disagree"),
        *("Only reference read", "Only robust read", "Scored", "Missing"),
    )
    notes = (intervals(of) + NOTE, *world(of)) if of else (EMPTY,)
    return Sheet("cvqa_readers", "Two readers of the same replies", headings, tuple(map(_cells, in_short(of))), notes)


def _figures(material: CvqaMaterial, arm: CvqaArm, kind: str, side: Side) -> Figures:
    due = [reply for reply in of_kind(material.scores[arm], kind) if reply.side == side]
    came = [reply for reply in due if reply.status == Status.OK]
    figures = named(material, arm) | {"type": kind, "side": side, "n": len(due), "n_scored": len(came)}
    figures |= {"missing": missing(due)} | _differences(came)
    if not came:
        return figures
    reference, robust = ([_value(reply, reader) for reply in came] for reader in (0, 1))
    how = material.interval
    found = paired(robust, reference, how).difference
    figures |= figures_of({"reference": estimate(reference, how), "robust": estimate(robust, how)})
    return figures | difference_of("difference", found) | {"ci": ways(figures["ci"], found.method)}


def _value(reply: Reply, reader: int) -> Value:
    return Value(reply.id, reply.image, float(reply.correct[reader]))


def _differences(of: Sequence[Reply]) -> Figures:
    """How often the readers read, or read differently."""
    readings = [reply.read for reply in of]
    return {
        "n_unread_reference": sum(first is None for first, _ in readings),
        "n_unread_robust": sum(then is None for _, then in readings),
        "n_disagree": sum(None not in pair and pair[0] != pair[1] for pair in readings),
        "n_reference_only": sum(first is not None and then is None for first, then in readings),
        "n_robust_only": sum(first is None and then is not None for first, then in readings),
        "n_reference_right": sum(reply.correct == (1, 0) for reply in of),
        "n_robust_right": sum(reply.correct == (0, 1) for reply in of),
    }


def _cells(row: ReadersRow) -> tuple[str, ...]:
    return (
        *(row.set, mark(row), row.type, row.side),
        *(with_interval(row, name) for name in ("reference", "robust", "difference")),
        f"{row.n_unread_reference} / {row.n_unread_robust}",
        *map(str, (row.n_disagree, row.n_reference_only, row.n_robust_only)),
        f"{row.n_scored} of {row.n}",
        row.missing,
    )


TABLE = Table(row=ReadersRow, rows=rows, sheet=sheet)
