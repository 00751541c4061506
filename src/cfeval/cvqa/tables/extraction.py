"""The released rules and the better reader on the same replies."""

from collections.abc import Sequence
from typing import Annotated

from cfeval.core.records import Binary, Status
from cfeval.cvqa.records import SIDES, CvqaCondition, Side
from cfeval.cvqa.tables.accuracy import named
from cfeval.cvqa.tables.cells import mark, world
from cfeval.cvqa.tables.items import difference_of, in_short, kinds, missing, of_kind, paired
from cfeval.cvqa.tables.replies import CvqaTableData, Reply
from cfeval.report.columns import Estimated, Heading, TableRow, laid_out
from cfeval.report.tables import (
    Figures,
    RenderedTable,
    Table,
    figures_of,
    interval_methods,
    intervals,
    scored_cell,
)
from cfeval.stats.intervals import ItemScore, estimate


class ReadersRow(TableRow):
    """Both readers on the same replies, a row a side."""

    set: Annotated[str, Heading("Set")]
    """Whose questions."""
    solver: Annotated[str, Heading("Solver", mark)]
    """Who was asked."""
    kind: str = ""
    """What the solver is: `chat`, `program`, `agent`, `random`."""
    llm: str = ""
    """The language model that writes the programs."""
    type: Annotated[str, Heading("Type")]
    """The group of questions, or `all`."""
    side: Annotated[str, Heading("Side")]
    """`original` or `counterfactual`."""
    n: int
    """Replies that were due."""
    n_scored: Annotated[int, Heading("Scored", scored_cell, after="n_robust_only")]
    """Those that came."""
    missing: Annotated[str, Heading("Missing", after="n_scored")] = ""
    """Why others did not, with counts."""
    reference: Annotated[Estimated, Heading("Reference")] = None
    """Accuracy as the released rules read the replies."""
    robust: Annotated[Estimated, Heading("Robust")] = None
    """Accuracy as the better reader reads them."""
    difference: Annotated[Estimated, Heading("Difference")] = None
    """robust − reference."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    n_unread_reference: Annotated[
        int, Heading("Unread", lambda row: f"{row.n_unread_reference} / {row.n_unread_robust}")
    ] = 0
    """Replies that the reference reader could not read."""
    n_unread_robust: int = 0
    """Replies that the robust reader could not read."""
    n_disagree: Annotated[int, Heading("Disagree")] = 0
    """Replies that both read, and read differently."""
    n_reference_only: Annotated[int, Heading("Only reference read")] = 0
    """Replies that the reference reader alone read."""
    n_robust_only: Annotated[int, Heading("Only robust read")] = 0
    """Replies that the robust reader alone read."""
    n_reference_right: int = 0
    """Replies that are right as the reference reader reads them and not as the robust one does."""
    n_robust_right: int = 0
    """Replies that are right as the robust reader reads them and not as the reference one does."""
    test_world: Binary = 0
    """1: a built-in test solver, which stands for no real model."""


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


def render(of: Sequence[ReadersRow]) -> RenderedTable:
    """The table for readers."""
    notes = (intervals(of) + NOTE, *world(of)) if of else (EMPTY,)
    return RenderedTable("cvqa_readers", "Two readers of the same replies", *laid_out(ReadersRow, in_short(of)), notes)


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


TABLE = Table(row=ReadersRow, rows=rows, render=render)
