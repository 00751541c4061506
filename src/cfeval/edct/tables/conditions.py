"""The tables of conditions: one row a condition, every figure with what it rests on, published ones beside where a
paper has them.

Table 1 of EDCT 2025: targets side by side; mean PCS, NCC and CCS with intervals. Its Table 2: the same target under
several judges and editors; how far the instrument moves the figure. EDCT-Bench 2026: targets, editors and judges under
its protocol; AC, EF, binary and graded CCS, means over chains.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, Any

from cfeval.core.records import Binary, Record
from cfeval.edct.protocols.rules import EDCT_2025, EDCT_BENCH_2026, RULES
from cfeval.edct.records import Condition
from cfeval.edct.tables.scores import (
    HEADINGS,
    NAMES,
    NO_CONDITION_NOTE,
    Published,
    Row,
    TableData,
    accuracy,
    bounds,
    cited,
    conditions_under,
    counts,
    edit_checks,
    values,
)
from cfeval.report.tables import (
    Bounded,
    Column,
    Estimated,
    Figure,
    Figures,
    Heading,
    RenderedTable,
    Table,
    TableRow,
    cell,
    figures_of,
    intervals,
    laid_out,
    or_bounds,
    scored_cell,
    varying,
    world_note,
)
from cfeval.stats.intervals import Interval, estimate

ALONE_NOTE = (
    "CCS alone backs no claim about a model: it leaves out what is cited and absent, and asks nothing of what is not "
    "cited. FIT and the trust card do (tables faithfulness and card; workflow/params/audit.yaml makes them)."
)
MISSING_NOTE = "CCS range: the mean over all items if every missing score had been 0, or 1."
_JOINED = ("dataset", "vlm", "writer", "editor", "judge")
"""The names by which published figures are found."""
_ORDER = ("dataset", "vlm", "writer", "judge", "editor", "protocol")
"""Of the names in Table 2: the judge stands before the editor, as in the paper."""


def range_cell(row: Any) -> str:
    """`0.2500 to 0.7500`: CCS if every missing score had been 0, or 1."""
    return f"{cell(row.ccs_min)} to {cell(row.ccs_max)}"


def checked_cell(row: Any) -> str:
    """The share of right edits and, in brackets, how many were checked."""
    return f"{cell(row.edit_verified)} ({row.n_checked})" if row.n_checked else ""


class ConditionRow(Condition, TableRow):
    """One condition: a row of Table 1 or 2 of EDCT 2025."""

    n: int
    """Items."""
    n_scored: Annotated[int, Heading("Scored", scored_cell)]
    """Those of them that pcs, ncc and ccs rest on."""
    pcs: Annotated[Estimated, Heading("PCS")] = None
    """Prediction Change Score: share of edits after which the new answer is consistent with the edit."""
    ncc: Annotated[Estimated, Heading("NCC")] = None
    """NLE Concept Consistency: share of edits that the new explanation reflects."""
    ccs: Annotated[Estimated, Heading("CCS")] = None
    """Counterfactual Consistency Score: mean of pcs · ncc, over the items whose edit could be made."""
    strict_ccs: Annotated[Bounded, Heading("Strict CCS", or_bounds("strict_ccs"))] = None
    """The same, an item that cites something absent counting 0; empty where that was not checked."""
    citation_rate: Annotated[Bounded, Heading("Citation rate", or_bounds("citation_rate"))] = None
    """Share of items whose cited thing is in the image, among those where that is known."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    paper_pcs: Annotated[Figure, Heading("Paper PCS", optional=True)] = None
    """What the paper printed for this very cell; empty where it has none."""
    paper_ncc: Annotated[Figure, Heading("Paper NCC", optional=True)] = None
    """The same of ncc."""
    paper_ccs: Annotated[Figure, Heading("Paper CCS", optional=True)] = None
    """The same of ccs."""
    accuracy: Annotated[Figure, Heading("Accuracy")] = None
    """Mean accuracy of the baseline answers, among items that have an answer and a known right one."""
    edit_verified: Annotated[Figure, Heading("Edits right (checked)", checked_cell)] = None
    """Share of right edits, among those that a verifier checked."""
    n_checked: int = 0
    """Edits that a verifier could judge."""
    missing: Annotated[str, Heading("Missing")] = ""
    """Why items have no score, with counts."""
    ccs_min: Annotated[Figure, Heading("CCS range", range_cell, after="ccs")] = None
    """ccs over all n if every missing score had been 0."""
    ccs_max: Figure = None
    """ccs over all n if every missing score had been 1."""
    test_world: Binary = 0
    """1: the target is a built-in test model, which stands for no real one."""


class BenchRow(Condition, TableRow):
    """One condition under EDCT-Bench 2026. Figures are means over an item's scored edits, then over items."""

    n: int
    """Items."""
    n_scored: Annotated[int, Heading("Scored", scored_cell)]
    """Those of them with a score for at least one edit of their chain."""
    n_edits: int
    """Edits of all chains."""
    n_edits_scored: Annotated[int, Heading("Edits scored", lambda row: f"{row.n_edits_scored} of {row.n_edits}")]
    """Those of them that have a score."""
    ac: Annotated[Estimated, Heading("AC")] = None
    """Answer Consistency."""
    ef: Annotated[Estimated, Heading("EF")] = None
    """Explanation Faithfulness."""
    ccs: Annotated[Estimated, Heading("CCS")] = None
    """Mean of ac · ef, over the edits that could be made."""
    strict_ccs: Annotated[Bounded, Heading("Strict CCS", or_bounds("strict_ccs"))] = None
    """The same, an edit of what is absent counting 0; empty where that was not checked."""
    citation_rate: Annotated[Bounded, Heading("Citation rate", or_bounds("citation_rate"))] = None
    """Share of edits whose cited thing is in the image, among those where that is known."""
    ccs_graded: Annotated[Estimated, Heading("Graded CCS")] = None
    """Mean of the judge's grade."""
    n_graded: int = 0
    """Items that ccs_graded rests on."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    paper_ccs: Annotated[Figure, Heading("Paper CCS", optional=True)] = None
    """What the paper printed for this very cell; empty where it has none."""
    paper_ccs_graded: Annotated[Figure, Heading("Paper Graded CCS", optional=True)] = None
    """The same of ccs_graded."""
    accuracy: Annotated[Figure, Heading("Accuracy")] = None
    """Mean accuracy of the baseline answers, among items that have an answer and a known right one."""
    edit_verified: Annotated[Figure, Heading("Edits right (checked)", checked_cell)] = None
    """Share of right edits, among those that a verifier checked."""
    n_checked: int = 0
    """Edits that a verifier could judge."""
    missing: Annotated[str, Heading("Missing")] = ""
    """Why edits have no score, with counts."""
    ccs_min: Annotated[Figure, Heading("CCS range", range_cell, after="ccs_graded")] = None
    """ccs over all n if every missing score had been 0."""
    ccs_max: Figure = None
    """ccs over all n if every missing score had been 1."""
    test_world: Binary = 0
    """1: the target is a built-in test model, which stands for no real one."""


def condition_rows(table: str, conditions: Sequence[Condition], material: TableData) -> list[ConditionRow]:
    """A row for each condition, in the order of `conditions`; scores of other conditions are left aside.

    Args:
        table: `table1` or `table2`: which published figures may stand beside.

    Raises:
        InputError: a condition has no scores, or another protocol's.
    """
    return [
        ConditionRow.model_validate(
            summary(condition, material.of(condition), material.how) | beside(table, condition, material)
        )
        for condition in conditions_under(conditions, table, EDCT_2025)
    ]


def bench_rows(conditions: Sequence[Condition], material: TableData) -> list[BenchRow]:
    """A row for each condition, in the order of `conditions`; InputError where one has no scores, or another
    protocol's.
    """
    return [_bench_row(condition, material) for condition in conditions_under(conditions, "bench", EDCT_BENCH_2026)]


def _bench_row(condition: Condition, material: TableData) -> BenchRow:
    scores = material.of(condition)
    edits = {"n_edits": len(scores), "n_edits_scored": sum(score.told.ccs is not None for score in scores)}
    edits |= {"n_graded": len(values(scores, "ccs_graded"))}
    return BenchRow.model_validate(
        summary(condition, scores, material.how) | beside("bench", condition, material) | edits
    )


def summary(condition: Condition, scores: Sequence[Row], how: Interval) -> Figures:
    """Every figure of one condition's scores, by its column."""
    rules = RULES[condition.protocol]
    metrics = (*rules.scores, "ccs", *(["ccs_graded"] if rules.graded else []))
    found = figures_of({metric: estimate(values(scores, metric), how) for metric in metrics}) | cited(scores, how)
    figures = condition.model_dump() | counts(scores) | found | bounds("ccs", scores, "ccs")
    return figures | {"accuracy": accuracy(scores)} | edit_checks(scores)


def beside(table: str, condition: Condition, material: TableData) -> Figures:
    """What the paper printed for this very cell, and whether the target is a built-in test model."""
    paper = published_figures(condition, table, material.published)
    figures: Figures = {f"paper_{metric}": value for metric, value in paper.items()}
    return figures | {"test_world": material.is_test(condition.vlm)}


def published_figures(condition: Condition, table: str, published: Iterable[Published]) -> dict[str, float]:
    """The figures, by metric, that a paper printed for this condition in this table.

    Names are compared without letter case, `-`, `_`, `.` and spaces. Where two lines match, the first counts.
    """
    found: dict[str, float] = {}
    for line in published:
        if line.table == table and _same_cell(line, condition):
            found.setdefault(line.metric, line.value)
    return found


def _same_cell(line: Published, condition: Condition) -> bool:
    named = [name for name in _JOINED if getattr(line, name)]
    return line.protocol == condition.protocol and all(
        _plain(getattr(line, n)) == _plain(getattr(condition, n)) for n in named
    )


def _plain(name: str) -> str:
    return re.sub(r"[-_. ]", "", name.casefold())


def render_condition(
    name: str, title: str, rows: Sequence[ConditionRow], order: Sequence[str] = NAMES, always: str = "vlm"
) -> RenderedTable:
    """The table for readers.

    Args:
        order: of the columns that name the condition.
        always: the name that has a column in any case; another that all rows share stands in the notes instead.
    """
    names = varying(rows, order, [always])
    return RenderedTable(name, title, *laid_out(ConditionRow, rows, {"": name_columns(names)}), notes(rows, names))


def render_bench(of: Sequence[BenchRow]) -> RenderedTable:
    """The table for readers."""
    names, title = varying(of, NAMES), "EDCT-Bench 2026: faithfulness under a chain of edits"
    return RenderedTable("edct_bench", title, *laid_out(BenchRow, of, {"": name_columns(names)}), notes(of, names))


def name_columns(names: Sequence[str]) -> list[Column]:
    """Columns of the names by which conditions differ."""
    return [(HEADINGS[name], partial(name_cell, name)) for name in names]


def name_cell(name: str, row: Record) -> str:
    """A name of the condition; a test target carries a mark."""
    mark = " †" if name == "vlm" and getattr(row, "test_world", None) else ""
    return f"{getattr(row, name)}{mark}"


def notes(rows: Sequence[ConditionRow] | Sequence[BenchRow], columns: Sequence[str]) -> tuple[str, ...]:
    """What holds for all rows, how to read the columns, and what the targets are."""
    if not rows:
        return (NO_CONDITION_NOTE,)
    said = (shared(rows[0], columns), f"{intervals(rows)}{MISSING_NOTE} {ALONE_NOTE}")
    return tuple(note for note in (*said, *world_note(rows)) if note)


def shared(row: Record, columns: Sequence[str], names: Sequence[str] = NAMES) -> str:
    """Those of the names that have no column, as all rows share them: `Dataset: world · Judge: grammar.`."""
    rest = [name for name in names if name not in columns]
    return " · ".join(f"{HEADINGS[name]}: {name_cell(name, row)}" for name in rest) + "." if rest else ""


TABLE1 = Table(
    row=ConditionRow,
    rows=partial(condition_rows, "table1"),
    render=partial(render_condition, "edct_table1", "EDCT, Table 1: faithfulness of explanations by target"),
)
TABLE2 = Table(
    row=ConditionRow,
    rows=partial(condition_rows, "table2"),
    render=partial(
        render_condition, "edct_table2", "EDCT, Table 2: robustness to judge and editor", order=_ORDER, always="judge"
    ),
)
BENCH = Table(row=BenchRow, rows=bench_rows, render=render_bench)
