"""The released rules and the better reader on the same replies."""

from collections.abc import Sequence

from cfeval.core.records import Binary, Record, Status
from cfeval.cvqa.records import SIDES, CvqaCondition, Side
from cfeval.cvqa.tables.accuracy import mark, named, world
from cfeval.cvqa.tables.items import difference_of, in_short, kinds, missing, of_kind, paired
from cfeval.cvqa.tables.replies import CvqaTableData, Reply
from cfeval.report.tables import (
    Figure,
    Figures,
    RenderedTable,
    Table,
    figures_of,
    interval_methods,
    intervals,
    with_interval,
)
from cfeval.stats.intervals import ItemScore, estimate


class ReadersRow(Record):
    """The two readers on the same replies (cvqa_readers)."""

    set: str
    solver: str
    kind: str = ""
    llm: str = ""
    type: str
    side: str
    n: int
    """Replies that were due."""
    n_scored: int
    """Those that came."""
    missing: str = ""
    reference: Figure = None
    """Accuracy as the released rules read the replies."""
    reference_lo: Figure = None
    reference_hi: Figure = None
    robust: Figure = None
    robust_lo: Figure = None
    robust_hi: Figure = None
    difference: Figure = None
    """robust − reference."""
    difference_lo: Figure = None
    difference_hi: Figure = None
    ci: str = ""
    n_unread_reference: int = 0
    n_unread_robust: int = 0
    n_disagree: int = 0
    """Replies that both read, and read differently."""
    n_reference_only: int = 0
    """Replies that the reference reader alone read."""
    n_robust_only: int = 0
    n_reference_right: int = 0
    """Replies that are right as the reference reader reads them and not as the robust one does."""
    n_robust_right: int = 0
    test_world: Binary = 0


EMPTY = "Empty: nobody answered anything."
NOTE = (
    "Every reply, in whatever order options were shown. Reference: the released rules; robust: a reader that leaves "
    "unread what is not clear. Unread replies count as wrong. Disagree: both read the reply, differently."
)


def rows(material: CvqaTableData) -> list[ReadersRow]:
    """A row for each condition, type and side."""
    return [
        ReadersRow.model_validate(_figures(material, condition, kind, side))
        for condition, replies in material.scores.items()
        for kind in kinds(replies)
        for side in SIDES
    ]


def sheet(of: Sequence[ReadersRow]) -> RenderedTable:
    """The table for readers."""
    headings = (
        *("Set", "Solver", "Type", "Side", "Reference", "Robust", "Difference", "Unread", "Disagree"),
        *("Only reference read", "Only robust read", "Scored", "Missing"),
    )
    notes = (intervals(of) + NOTE, *world(of)) if of else (EMPTY,)
    return RenderedTable(
        "cvqa_readers", "Two readers of the same replies", headings, tuple(map(_cells, in_short(of))), notes
    )


def _figures(material: CvqaTableData, condition: CvqaCondition, kind: str, side: Side) -> Figures:
    due = [reply for reply in of_kind(material.scores[condition], kind) if reply.side == side]
    came = [reply for reply in due if reply.status == Status.OK]
    figures = named(material, condition) | {"type": kind, "side": side, "n": len(due), "n_scored": len(came)}
    figures |= {"missing": missing(due)} | _differences(came)
    if not came:
        return figures
    reference, robust = ([_value(reply, reader) for reply in came] for reader in (0, 1))
    how = material.interval
    found = paired(robust, reference, how).difference
    figures |= figures_of({"reference": estimate(reference, how), "robust": estimate(robust, how)})
    return figures | difference_of("difference", found) | {"ci": interval_methods(figures["ci"], found.method)}


def _value(reply: Reply, reader: int) -> ItemScore:
    return ItemScore(reply.id, reply.image, float(reply.correct[reader]))


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
