"""The tables of conditions: one row a condition, every figure with what it rests on, published ones beside where a
paper has them.

Table 1 of EDCT 2025: targets side by side; mean PCS, NCC and CCS with intervals. Its Table 2: the same target under
several judges and editors; how far the instrument moves the figure. EDCT-Bench 2026: targets, editors and judges under
its protocol; AC, EF, binary and graded CCS, means over chains.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from cfeval.core.records import Binary, Record
from cfeval.edct.protocols.rules import EDCT_2025, EDCT_BENCH_2026, RULES
from cfeval.edct.records import Condition
from cfeval.edct.tables.scores import (
    HEADINGS,
    NAMES,
    Published,
    Row,
    TableData,
    accuracy,
    bounds,
    conditions_under,
    counts,
    edit_checks,
    short_labels,
    values,
)
from cfeval.report.figures import plain
from cfeval.report.tables import (
    NO_CONDITION_NOTE,
    Figure,
    Figures,
    RenderedTable,
    Table,
    cell,
    figures_of,
    intervals,
    varying,
    with_interval,
    world_note,
)
from cfeval.stats.intervals import Interval, estimate

METRICS = {"pcs": "PCS", "ncc": "NCC", "ccs": "CCS"}
BENCH_METRICS = {"ac": "AC", "ef": "EF", "ccs": "CCS", "ccs_graded": "Graded CCS"}
MISSING_NOTE = "CCS range: the mean over all items if every missing score had been 0, or 1."
_JOINED = ("dataset", "vlm", "writer", "editor", "judge")
"""The names by which published figures are found."""
_ORDER = ("dataset", "vlm", "writer", "judge", "editor", "protocol")
"""Of the names in Table 2: the judge stands before the editor, as in the paper."""


class ConditionRow(Condition):
    """A row of Table 1 or 2: one condition (edct_table1.csv, edct_table2.csv)."""

    n: int
    """Items."""
    n_scored: int
    """Those of them that pcs, ncc and ccs rest on."""
    pcs: Figure = None
    pcs_lo: Figure = None
    pcs_hi: Figure = None
    ncc: Figure = None
    ncc_lo: Figure = None
    ncc_hi: Figure = None
    ccs: Figure = None
    ccs_lo: Figure = None
    ccs_hi: Figure = None
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    paper_pcs: Figure = None
    """What the paper printed for this very cell; empty where it has none."""
    paper_ncc: Figure = None
    paper_ccs: Figure = None
    accuracy: Figure = None
    """Mean accuracy of the baseline answers, among items that have an answer and a known right one."""
    edit_verified: Figure = None
    """Share of right edits, among those that a verifier checked."""
    n_checked: int = 0
    missing: str = ""
    """Why items have no score, with counts."""
    ccs_min: Figure = None
    """The mean over all n if every missing score had been 0."""
    ccs_max: Figure = None
    """The mean over all n if every missing score had been 1."""
    test_world: Binary = 0
    """1: the target is a built-in test model, which stands for no real one."""


class BenchRow(Condition):
    """A row of the 2026 protocol's table: one condition (edct_bench.csv)."""

    n: int
    """Items."""
    n_scored: int
    """Those of them with a score for at least one edit of their chain."""
    n_edits: int
    """Edits of all chains."""
    n_edits_scored: int
    ac: Figure = None
    """Means over the edits of a chain that have a score, then over items."""
    ac_lo: Figure = None
    ac_hi: Figure = None
    ef: Figure = None
    ef_lo: Figure = None
    ef_hi: Figure = None
    ccs: Figure = None
    ccs_lo: Figure = None
    ccs_hi: Figure = None
    ccs_graded: Figure = None
    ccs_graded_lo: Figure = None
    ccs_graded_hi: Figure = None
    n_graded: int = 0
    """Items that ccs_graded rests on."""
    ci: str = ""
    paper_ccs: Figure = None
    paper_ccs_graded: Figure = None
    accuracy: Figure = None
    edit_verified: Figure = None
    n_checked: int = 0
    missing: str = ""
    """Why edits have no score, with counts."""
    ccs_min: Figure = None
    ccs_max: Figure = None
    test_world: Binary = 0


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
    found = figures_of({metric: estimate(values(scores, metric), how) for metric in metrics})
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


def condition_sheet(
    name: str, title: str, rows: Sequence[ConditionRow], order: Sequence[str] = NAMES, always: str = "vlm"
) -> RenderedTable:
    """The table for readers.

    Args:
        order: of the columns that name the condition.
        always: the name that has a column in any case; another that all rows share stands in the notes instead.
    """
    names = varying(rows, order, [always])
    paper = [metric for metric in METRICS if any(getattr(row, f"paper_{metric}") is not None for row in rows)]
    headings = [*(HEADINGS[part] for part in names), "Scored", *METRICS.values(), "CCS range"]
    headings += [*(f"Paper {METRICS[metric]}" for metric in paper), "Accuracy", "Edits right (checked)", "Missing"]
    body = tuple(
        (*named(row, names, row.test_world), f"{row.n_scored} of {row.n}", *figure_cells(row, METRICS, paper))
        for row in rows
    )
    return RenderedTable(name, title, tuple(headings), body, notes(rows, names))


def bench_sheet(of: Sequence[BenchRow]) -> RenderedTable:
    """The table for readers."""
    names = varying(of, NAMES)
    paper = [metric for metric in ("ccs", "ccs_graded") if any(getattr(r, f"paper_{metric}") is not None for r in of)]
    headings = [*(HEADINGS[name] for name in names), "Scored", "Edits scored", *BENCH_METRICS.values(), "CCS range"]
    headings += [
        *(f"Paper {BENCH_METRICS[metric]}" for metric in paper),
        "Accuracy",
        "Edits right (checked)",
        "Missing",
    ]
    body = tuple(
        (
            *named(row, names, row.test_world),
            f"{row.n_scored} of {row.n}",
            f"{row.n_edits_scored} of {row.n_edits}",
            *figure_cells(row, BENCH_METRICS, paper),
        )
        for row in of
    )
    title = "EDCT-Bench 2026: faithfulness under a chain of edits"
    return RenderedTable("edct_bench", title, tuple(headings), body, notes(of, names))


def named(row: Record, names: Sequence[str], marked: int = 0) -> list[str]:
    """The cells that name the condition; a test target carries a mark."""
    return [getattr(row, part) + (" †" if part == "vlm" and marked else "") for part in names]


def notes(rows: Sequence[ConditionRow] | Sequence[BenchRow], columns: Sequence[str]) -> tuple[str, ...]:
    """What holds for all rows, how to read the columns, and what the targets are."""
    if not rows:
        return (NO_CONDITION_NOTE,)
    said = (shared(rows[0], columns, marked=rows[0].test_world), f"{intervals(rows)}{MISSING_NOTE}")
    return tuple(note for note in (*said, *world_note(rows)) if note)


def shared(row: Record, columns: Sequence[str], names: Sequence[str] = NAMES, marked: int = 0) -> str:
    """Those of the names that have no column, as all rows share them: `Data set: world · Judge: grammar.`."""
    rest = [name for name in names if name not in columns]
    texts = zip(rest, named(row, rest, marked), strict=True)
    return " · ".join(f"{HEADINGS[name]}: {text}" for name, text in texts) + "." if rest else ""


def figure_cells(row: ConditionRow | BenchRow, metrics: Iterable[str], paper: Sequence[str]) -> tuple[str, ...]:
    """The cells of the figures, the paper's beside, and what they rest on."""
    checked = f"{cell(row.edit_verified)} ({row.n_checked})" if row.n_checked else ""
    return (
        *(with_interval(row, metric) for metric in metrics),
        f"{cell(row.ccs_min)} to {cell(row.ccs_max)}",
        *(cell(getattr(row, f"paper_{metric}")) for metric in paper),
        cell(row.accuracy),
        checked,
        row.missing,
    )


def condition_labels(rows: Sequence[Any]) -> list[str]:
    """What tells each condition from the others, targets of the test world marked; rows have `test_world`."""
    return [
        plain(label.replace(row.vlm, f"{row.vlm} †", 1) if row.test_world else label)
        for row, label in zip(rows, short_labels(rows), strict=True)
    ]


TABLE1 = Table(
    row=ConditionRow,
    rows=partial(condition_rows, "table1"),
    sheet=partial(condition_sheet, "edct_table1", "EDCT, Table 1: faithfulness of explanations by target"),
)
TABLE2 = Table(
    row=ConditionRow,
    rows=partial(condition_rows, "table2"),
    sheet=partial(
        condition_sheet, "edct_table2", "EDCT, Table 2: robustness to judge and editor", order=_ORDER, always="judge"
    ),
)
BENCH = Table(row=BenchRow, rows=bench_rows, sheet=bench_sheet)
