"""The released rules and the better reader on the same replies."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from cfeval.core.records import Binary, Status
from cfeval.cvqa.records import AS_PUBLISHED, HEADLINE, READERS, SIDES, CvqaCondition, ExtractorName, Side
from cfeval.cvqa.tables.accuracy import named
from cfeval.cvqa.tables.cells import mark, range_columns, world
from cfeval.cvqa.tables.items import difference_of, in_short, kinds, missing, of_kind, paired
from cfeval.cvqa.tables.replies import CvqaTableData, Reply, place
from cfeval.report.columns import Bounded, Estimated, Heading, TableRow, laid_out
from cfeval.report.tables import (
    Figures,
    RenderedTable,
    Table,
    figures_of,
    interval_methods,
    intervals,
    scored_cell,
)
from cfeval.stats.intervals import ItemScore, estimate, rounded


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
    robust: Annotated[Bounded, Heading("Robust")] = None
    """Accuracy as the robust reader reads the replies, over those that it can read."""
    reference: Annotated[Estimated, Heading("As published")] = None
    """Accuracy as the released rules read them, what they cannot read as wrong."""
    difference: Annotated[Estimated, Heading("Difference")] = None
    """robust − reference, over the replies that the robust reader can read."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    n_unread_reference: Annotated[
        int, Heading("Unread", lambda row: f"{row.n_unread_robust} / {row.n_unread_reference}")
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
    "Every reply, in whatever order options were shown. Robust: a reader that leaves unread what is not clear; unread "
    "replies have no score, and the range says what they and the missing ones could change. As published: the released "
    "rules, which count what they cannot read as wrong. Unread: by the robust reader / by the released rules. "
    "Disagree: both read the reply, differently."
)


def rows(material: CvqaTableData) -> list[ReadersRow]:
    """A row for each condition, type and side."""
    return [
        ReadersRow.model_validate(_figures(material, condition, kind, side))
        for condition, replies in material.scores.items()
        for kind in kinds(replies)
        for side in SIDES
        if any(reply.side == side for reply in of_kind(replies, kind))
    ]


def render(of: Sequence[ReadersRow]) -> RenderedTable:
    """The table for readers."""
    notes = (intervals(of) + NOTE, *world(of)) if of else (EMPTY,)
    shown = in_short(of)
    ranges = {"robust": range_columns(shown, {"robust": "Robust range"})}
    title = "Two readers of the same replies"
    return RenderedTable("cvqa_readers", title, *laid_out(ReadersRow, shown, ranges), notes)


def _figures(material: CvqaTableData, condition: CvqaCondition, kind: str, side: Side) -> Figures:
    due = [reply for reply in of_kind(material.scores[condition], kind) if reply.side == side]
    came = [reply for reply in due if reply.status == Status.OK]
    figures = named(material, condition) | {"type": kind, "side": side, "n": len(due), "n_scored": len(came)}
    figures |= {"missing": missing(due)} | _differences(came)
    if not came:
        return figures
    how = material.interval
    read = [reply for reply in came if reply.correct[place(HEADLINE)] is not None]
    robust, published = (list(_values(came, reader)) for reader in READERS)
    right = sum(value.value for value in robust)
    figures |= {
        "robust_min": rounded(right / len(due)),
        "robust_max": rounded((right + len(due) - len(read)) / len(due)),
    }
    scored = {"robust": robust, "reference": published}
    figures |= figures_of({name: estimate(of, how) for name, of in scored.items() if of})
    both = [reply for reply in read if reply.correct[place(AS_PUBLISHED)] is not None]
    if not both:
        return figures
    found = paired(list(_values(both, HEADLINE)), list(_values(both, AS_PUBLISHED)), how).difference
    return figures | difference_of("difference", found) | {"ci": interval_methods(figures.get("ci", ""), found.method)}


def _values(of: Sequence[Reply], reader: ExtractorName) -> Iterator[ItemScore]:
    for reply in of:
        if (score := reply.correct[place(reader)]) is not None:
            yield ItemScore(reply.id, reply.image, float(score))


def _differences(of: Sequence[Reply]) -> Figures:
    """How often the readers read, or read differently."""
    readings = [reply.read for reply in of]
    right = [tuple(score == 1 for score in reply.correct) for reply in of]
    return {
        "n_unread_robust": sum(robust is None for robust, _ in readings),
        "n_unread_reference": sum(published is None for _, published in readings),
        "n_disagree": sum(None not in pair and pair[0] != pair[1] for pair in readings),
        "n_robust_only": sum(robust is not None and published is None for robust, published in readings),
        "n_reference_only": sum(robust is None and published is not None for robust, published in readings),
        "n_robust_right": right.count((True, False)),
        "n_reference_right": right.count((False, True)),
    }


TABLE = Table(row=ReadersRow, rows=rows, render=render)
