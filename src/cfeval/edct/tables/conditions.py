"""The tables of conditions: one row a condition, every figure with what it rests on, published ones beside where a
paper has them.

Table 1 of EDCT 2025: targets side by side; mean PCS, NCC and CCS with intervals. Its Table 2: the same target under
several judges and editors; how far the instrument moves the figure. EDCT-Bench 2026: targets, editors and judges under
its protocol; AC, EF, binary and graded CCS, means over chains.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ParamSpec, TypeVar

from pydantic import Field

from cfeval.core.records import Binary, Record
from cfeval.edct.pairs.records import PairCondition
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
    values,
)
from cfeval.report.tables import (
    Bounded,
    Column,
    Estimated,
    Figure,
    Figures,
    Heading,
    Lines,
    Methods,
    Table,
    TableRow,
    cell,
    figures_of,
    intervals,
    or_bounds,
    scored_cell,
    table,
    varying,
    world_note,
)
from cfeval.stats.intervals import Interval, estimate, mean

P = ParamSpec("P")
R = TypeVar("R", bound=Record)
ALONE_NOTE = (
    "CCS alone backs no claim about a model: it leaves out what is cited and absent, and asks nothing of what is not "
    "cited. FIT and the trust card do (tables faithfulness and card; workflow/params/audit.yaml makes them)."
)
MISSING_NOTE = "CCS range: the mean over all items if every missing score had been 0, or 1."


def range_cell(row: Any) -> str:
    """`0.2500 to 0.7500`: CCS if every missing score had been 0, or 1."""
    return f"{cell(row.ccs_min)} to {cell(row.ccs_max)}"


Dataset = Annotated[str, Field(description="The dataset.")]
Writer = Annotated[str, Field(description="The instruction writer.")]
Protocol = Annotated[str, Field(description="The protocol.")]
Editor = Annotated[str, Field(description="The editor.")]
Judge = Annotated[str, Field(description="The judge.")]
Items = Annotated[int, Field(description="Items.")]
Missing = Annotated[str, Heading("Missing"), Field(description="Why edits have no score, with counts.")]
TestTarget = Annotated[
    Binary, Field(description="1: the target is a built-in test model, which stands for no real one.")
]
StrictCcs = Annotated[
    Bounded,
    Heading("Strict CCS", or_bounds("strict_ccs")),
    Field(description="The same, an item that cites something absent counting 0; empty where that was not checked."),
]
CitationRate = Annotated[
    Bounded,
    Heading("Citation rate", or_bounds("citation_rate")),
    Field(description="Share of items whose cited thing is in the image, among those where that is known."),
]
_PaperCcs = Annotated[
    Figure,
    Heading("Paper CCS", optional=True),
    Field(description="What the paper printed for this very cell; empty where it has none."),
]
_Accuracy = Annotated[
    Figure,
    Heading("Accuracy"),
    Field(description="Mean accuracy of the baseline answers, among items that have an answer and a known right one."),
]
_EditVerified = Annotated[
    Figure,
    Heading(
        "Edits right (checked)", lambda row: f"{cell(row.edit_verified)} ({row.n_checked})" if row.n_checked else ""
    ),
    Field(description="Share of right edits, among those that a verifier checked."),
]
_NChecked = Annotated[int, Field(description="Edits that a verifier could judge.")]
_CcsMax = Annotated[Figure, Field(description="ccs over all n if every missing score had been 1.")]


def edct_table(
    name: str,
    title: str,
    row: type[R],
    rows: Callable[P, list[R]],
    notes: Callable[[Sequence[R]], Iterable[str]],
    names: Sequence[str] = NAMES,
    always: Sequence[str] = ("vlm",),
    empty: str = NO_CONDITION_NOTE,
    noted_names: bool = True,
    lines: Callable[[Sequence[R]], Lines] | None = None,
) -> Table[P, R]:
    """A table whose rows are told apart by names: those by which they differ have columns.

    Args:
        names: of conditions, in the order of their columns.
        always: those that have a column in any case.
        noted_names: whether a note gives the names that all rows share.
        notes: those below that; see `report.tables.table` for it and the others.
    """

    def all_notes(rows: Sequence[R]) -> tuple[str, ...]:
        columns = varying(rows, names, always)
        return (shared(rows[0], columns, names) if noted_names else "", *notes(rows))

    def added(rows: Sequence[R]) -> Mapping[str, Sequence[Column]]:
        return {"": name_columns(varying(rows, names, always))}

    return table(f"edct_{name}", title, row, rows, all_notes, empty, added=added, lines=lines)


def noted(text: str) -> Callable[[Sequence[Any]], tuple[str, ...]]:
    """The notes of a table: how its intervals were computed, how to read it, and what the mark means where it is."""
    return lambda rows: (intervals(rows) + text, *world_note(rows))


def name_columns(names: Sequence[str]) -> list[Column]:
    """Columns of the names by which conditions differ."""
    return [(HEADINGS[name], partial(name_cell, name)) for name in names]


def name_cell(name: str, row: Record) -> str:
    """A name of the condition; a test target carries a mark."""
    mark = " †" if name == "vlm" and getattr(row, "test_world", None) else ""
    return f"{getattr(row, name)}{mark}"


def shared(row: Record, columns: Sequence[str], names: Sequence[str] = NAMES) -> str:
    """Those of the names that have no column, as all rows share them: `Dataset: world · Judge: grammar.`."""
    rest = [name for name in NAMES if name in names and name not in columns]
    return " · ".join(f"{HEADINGS[name]}: {name_cell(name, row)}" for name in rest) + "." if rest else ""


class ConditionRow(Condition, TableRow):
    """One condition: a row of Table 1 or 2 of EDCT 2025."""

    n: Items
    n_scored: Annotated[int, Heading("Scored", scored_cell)]
    """Those of them that pcs, ncc and ccs rest on."""
    pcs: Annotated[Estimated, Heading("PCS")] = None
    """Prediction Change Score: share of edits after which the new answer is consistent with the edit."""
    ncc: Annotated[Estimated, Heading("NCC")] = None
    """NLE Concept Consistency: share of edits that the new explanation reflects."""
    ccs: Annotated[Estimated, Heading("CCS")] = None
    """Counterfactual Consistency Score: mean of pcs · ncc, over the items whose edit could be made."""
    strict_ccs: StrictCcs = None
    citation_rate: CitationRate = None
    ci: Methods = ""
    paper_pcs: Annotated[Figure, Heading("Paper PCS", optional=True)] = None
    """What the paper printed for this very cell; empty where it has none."""
    paper_ncc: Annotated[Figure, Heading("Paper NCC", optional=True)] = None
    """The same of ncc."""
    paper_ccs: Annotated[Figure, Heading("Paper CCS", optional=True)] = None
    """The same of ccs."""
    accuracy: _Accuracy = None
    edit_verified: _EditVerified = None
    n_checked: _NChecked = 0
    missing: Annotated[str, Heading("Missing")] = ""
    """Why items have no score, with counts."""
    ccs_min: Annotated[Figure, Heading("CCS range", range_cell, after="ccs")] = None
    """ccs over all n if every missing score had been 0."""
    ccs_max: _CcsMax = None
    test_world: TestTarget = 0


class BenchRow(Condition, TableRow):
    """One condition under EDCT-Bench 2026. Figures are means over an item's scored edits, then over items."""

    n: Items
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
    ci: Methods = ""
    paper_ccs: _PaperCcs = None
    paper_ccs_graded: Annotated[Figure, Heading("Paper Graded CCS", optional=True)] = None
    """The same of ccs_graded."""
    accuracy: _Accuracy = None
    edit_verified: _EditVerified = None
    n_checked: _NChecked = 0
    missing: Missing = ""
    ccs_min: Annotated[Figure, Heading("CCS range", range_cell, after="ccs_graded")] = None
    """ccs over all n if every missing score had been 0."""
    ccs_max: _CcsMax = None
    test_world: TestTarget = 0


def condition_rows(table: str, conditions: Sequence[Condition], material: TableData) -> list[ConditionRow]:
    """A row for each condition, in the order of `conditions`; scores of other conditions are left aside.

    Args:
        table: `table1` or `table2`: which published figures may stand beside.

    Raises:
        InputError: a condition has no scores, or another protocol's.
    """
    among = conditions_under(conditions, table, EDCT_2025)
    return [ConditionRow.model_validate(_figures(table, condition, material)) for condition in among]


def bench_rows(conditions: Sequence[Condition], material: TableData) -> list[BenchRow]:
    """A row for each condition, in the order of `conditions`; InputError where one has no scores, or another
    protocol's.
    """
    rows = []
    for condition in conditions_under(conditions, "bench", EDCT_BENCH_2026):
        scores = material.of(condition)
        edits = {"n_edits": len(scores), "n_edits_scored": sum(score.told.ccs is not None for score in scores)}
        edits |= {"n_graded": len(values(scores, "ccs_graded"))}
        rows.append(BenchRow.model_validate(_figures("bench", condition, material) | edits))
    return rows


def _figures(table: str, condition: Condition, material: TableData) -> Figures:
    """Every figure of a condition, what the paper printed for this very cell, and whether it is of a test model."""
    paper = published_figures(condition, table, material.published)
    figures = summary(condition, material.of(condition), material.how)
    figures |= {f"paper_{metric}": value for metric, value in paper.items()}
    return figures | {"test_world": material.is_test(condition.vlm)}


def summary(condition: Condition, scores: Sequence[Row], interval: Interval) -> Figures:
    """Every figure of one condition's scores, by its column."""
    rules = RULES[condition.protocol]
    metrics = (*rules.scores, "ccs", *(["ccs_graded"] if rules.graded else []))
    figures = condition.model_dump() | counts(scores)
    figures |= figures_of({metric: estimate(values(scores, metric), interval) for metric in metrics})
    figures |= cited(scores, interval)
    checked = [float(score.told.verified) for score in scores if score.told.verified is not None]
    figures |= {"edit_verified": mean(checked), "n_checked": len(checked)}
    return figures | bounds("ccs", scores, "ccs") | {"accuracy": accuracy(scores)}


def published_figures(condition: Condition, table: str, published: Iterable[Published]) -> dict[str, float]:
    """The figures, by metric, that a paper printed for this condition in this table.

    Names are compared without letter case, `-`, `_`, `.` and spaces. Where two lines match, the first counts.
    """

    def plain(name: str) -> str:
        return re.sub(r"[-_. ]", "", name.casefold())

    def same_cell(line: Published) -> bool:
        named = [name for name in ("dataset", "vlm", "writer", "editor", "judge") if getattr(line, name)]
        return (line.table, line.protocol) == (table, condition.protocol) and all(
            plain(getattr(line, name)) == plain(getattr(condition, name)) for name in named
        )

    figures: dict[str, float] = {}
    for line in filter(same_cell, published):
        figures.setdefault(line.metric, line.value)
    return figures


_NOTES = noted(f"{MISSING_NOTE} {ALONE_NOTE}")
TABLE1 = edct_table(
    "table1",
    "EDCT, Table 1: faithfulness of explanations by target",
    ConditionRow,
    partial(condition_rows, "table1"),
    _NOTES,
)
TABLE2 = edct_table(
    "table2",
    "EDCT, Table 2: robustness to judge and editor",
    ConditionRow,
    partial(condition_rows, "table2"),
    _NOTES,
    names=("dataset", "vlm", "writer", "judge", "editor", "protocol"),  # the judge before the editor, as in the paper
    always=("judge",),
)
BENCH = edct_table("bench", "EDCT-Bench 2026: faithfulness under a chain of edits", BenchRow, bench_rows, _NOTES)
_CITED = ("ccs", "strict_ccs", "citation_rate")  # CCS is never alone
HEADLINES = {"table1": _CITED, "table2": _CITED, "bench": _CITED, "faithfulness": ("fit",), "pairs": ("phi",)}
"""The headline figures of each row of a table: at most fifty, what a reader compares."""


def metrics(tables: Mapping[str, Sequence[Record]]) -> dict[str, dict[str, Any]]:
    """The headline figures as `dvc metrics` reads them, table → row → figure: a row by the names in which rows differ;
    what does not exist is left out, and of given pairs the kinds of change. A row of several figures has them by their
    columns.

    Of the calibration: the share of settings whose CCS lies within .05 of what is known, and the largest difference.
    """
    figures = {name: _headlines(tables[name], names) for name, names in HEADLINES.items() if name in tables}
    if "calibration" in tables:
        rows: Sequence[Any] = tables["calibration"]
        within = [row.within_05 for row in rows if row.within_05 is not None]
        differences = [abs(row.difference) for row in rows if row.difference is not None]
        figures["calibration"] = {
            "settings": len(rows),
            **({"within_05": round(sum(within) / len(within), 4)} if within else {}),
            **({"largest_difference": max(differences)} if differences else {}),
        }
    return figures


def _headlines(rows: Sequence[Any], figures: Sequence[str]) -> dict[str, Any]:
    pairs = bool(rows) and isinstance(rows[0], PairCondition)
    whole = [row for row in rows if not (pairs and row.kind)]
    names = varying(whole, tuple(PairCondition.model_fields) if pairs else NAMES)
    by_name = {}
    for row in whole:
        values_of_row = {figure: value for figure in figures if (value := getattr(row, figure)) is not None}
        if values_of_row:
            by_name["/".join(getattr(row, name) for name in names)] = (
                values_of_row if len(figures) > 1 else values_of_row[figures[0]]
            )
    return by_name
