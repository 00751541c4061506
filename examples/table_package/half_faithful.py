"""A table of one's own: edits that only one of the two follows, the answer or the explanation."""

from collections.abc import Sequence
from typing import Annotated

from cfeval.edct.records import Condition
from cfeval.edct.tables.conditions import name_columns
from cfeval.edct.tables.scores import NAMES, Row, TableData, counts, values
from cfeval.report.tables import (
    Estimated,
    Heading,
    RenderedTable,
    Table,
    TableRow,
    figures_of,
    intervals,
    laid_out,
    scored_cell,
)
from cfeval.stats.intervals import estimate


class HalfRow(Condition, TableRow):
    """One condition."""

    n: int
    """Items."""
    n_scored: Annotated[int, Heading("Scored", scored_cell)]
    """Those of them that have a score."""
    answer_alone: Annotated[Estimated, Heading("Answer alone")] = None
    """Share of edits that the answer follows, and the explanation does not."""
    explanation_alone: Annotated[Estimated, Heading("Explanation alone")] = None
    """Share of edits that the explanation follows, and the answer does not."""
    missing: Annotated[str, Heading("Missing")] = ""
    """Why items have no score, with counts."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""


def rows(conditions: Sequence[Condition], material: TableData) -> list[HalfRow]:
    """A row for each condition."""
    return [_row(condition, material) for condition in conditions]


def _row(condition: Condition, material: TableData) -> HalfRow:
    scores = material.of(condition)
    shares = {"answer_alone": lambda row: _alone(row, 1), "explanation_alone": lambda row: _alone(row, 0)}
    found = {name: estimate(values(scores, of), material.how) for name, of in shares.items()}
    return HalfRow.model_validate({**condition.model_dump(), **counts(scores), **figures_of(found)})


def _alone(row: Row, pcs: int) -> float | None:
    """1 where answer and explanation differ and the answer is the one that did so; None without a score."""
    said = row.told
    return None if said.pcs is None or said.ncc is None else float(said.pcs == pcs and said.ncc != pcs)


def render(of: Sequence[HalfRow]) -> RenderedTable:
    """The table for readers."""
    columns = laid_out(HalfRow, of, {"": name_columns(NAMES)})
    return RenderedTable("edct_half_faithful", "Edits that only one of the two follows", *columns, (intervals(of),))


TABLE = Table(row=HalfRow, rows=rows, render=render)
