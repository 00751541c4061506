"""What came of a run: the figures of each condition, on one line."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from cfeval.config import Params
from cfeval.core.errors import InputError, nearest
from cfeval.core.folder import EVALUATIONS
from cfeval.core.jsonl import read_csv
from cfeval.cvqa.tables.accuracy import SHOWN, AccuracyRow, Shown, shown
from cfeval.cvqa.tables.items import arrow, range_cell
from cfeval.report.tables import cell
from cfeval.vce.tables.answer import AnswerRow, sentences

REPORT = "{evaluation}/report/index.html"
Row = Mapping[str, str]
"""A row of a table, by column."""
CONDITION = ("dataset", "vlm", "writer", "protocol", "editor", "judge")
"""The columns that tell the conditions of edct apart."""


def outcomes(params: Params, root: str) -> list[str]:
    """What the tables say of each condition of each evaluation of a study."""
    found = list(_edct(Path(root, "edct/tables"))) if params.edct else []
    found += _vce(Path(root, "vce/tables")) if params.vce else []
    found += [*_cvqa(Path(root, "cvqa/tables")), *programs(Path(root, "cvqa/tables"))] if params.cvqa else []
    return found


def report_of(params: Params, root: str, evaluation: str = "") -> Path:
    """The page of an evaluation; of the first that the study has where none is named.

    Raises:
        InputError: the study has no evaluation of that name.
    """
    had = evaluations_of(params)
    if evaluation and evaluation not in had:
        raise InputError(f"--evaluation: the study has no '{evaluation}'; {nearest(evaluation, had)}")
    return Path(root, REPORT.format(evaluation=evaluation or had[0]))


def evaluations_of(params: Params) -> list[str]:
    """The evaluations that a study has."""
    return [name for name in EVALUATIONS if getattr(params, name)]


def edct_rows(tables: Path) -> Iterator[tuple[Row, Row]]:
    """The conditions of Table 1, each with its trust card, which is empty where it has none."""
    cards = {_condition(row): row for row in _rows(tables / "edct_card.csv")}
    yield from ((row, cards.get(_condition(row), {})) for row in _rows(tables / "edct_table1.csv"))


def pair_rows(tables: Path) -> list[Row]:
    """The targets that were asked about given pairs, over all kinds of change."""
    return [row for row in _rows(tables / "edct_pairs.csv") if not row["kind"]]


def vce_rows(tables: Path) -> list[Row]:
    """The classifiers and methods, by the share of counterfactuals that show the target class to the classifier."""
    return [row for row in _rows(tables / "vce_methods.csv") if row.get("metric") == "ta"]


def cvqa_rows(tables: Path) -> list[Shown]:
    """The solvers by set and type of question, as the page's first screen shows them."""
    files = {name: tables / f"cvqa_{name}.csv" for name in SHOWN}
    return shown({name: read_csv(file, AccuracyRow) for name, file in files.items() if file.is_file()})


def _edct(tables: Path) -> Iterator[str]:
    for row, card in edct_rows(tables):
        figures = [f"{card['conclusion']}, FIT {_share(card, 'fit')}"] if card else []
        figures += [f"CCS {_share(row, 'ccs')}", _scored(row)]
        yield f"{row['vlm']} on {row['dataset']} by {row['judge']}: {', '.join(figures)}"
    for row in pair_rows(tables):
        figures = [f"φ {_share(row, 'phi')}", f"answer moved {_share(row, 'moved')}", _scored(row)]
        yield f"{row['vlm']} on the pairs of {row['pair_set']} by {row['pair_judge']}: {', '.join(figures)}"


def _vce(tables: Path) -> Iterator[str]:
    file = tables / "vce_answer.csv"
    if file.is_file() and (answer := sentences(read_csv(file, AnswerRow))):
        yield " ".join(answer)
    for row in vce_rows(tables):
        share = f"{row['mean'] or '?'} taken for the target class"
        yield f"{row['classifier']} by {row['method']}: {share}, {_scored(row)}"


def _cvqa(tables: Path) -> Iterator[str]:
    for row, published in cvqa_rows(tables):
        right = f'{_ranged(row, "original")} right as it is, {_ranged(row, "counterfactual")} under the "if"'
        if row.alone:
            right = f'{_ranged(row, "counterfactual")} right under the "if" (asked alone: no drop)'
        scored = f"{row.n_scored} of {row.n} scored"
        both = arrow(published.original, published.counterfactual) if published and not row.alone else ""
        beside = f"; as published {both}" if both else ""
        yield f"{row.solver} on {row.set} ({row.type}): {right}, {scored}{beside}"


def _ranged(row: AccuracyRow, name: str) -> str:
    """A figure, and in brackets the same over all pairs, whatever the missing scores are."""
    could_be = range_cell(row, name)
    return (cell(getattr(row, name)) or "?") + (f" ({could_be})" if could_be else "")


def programs(tables: Path) -> Iterator[str]:
    """Programs of which some failed: by errors of their own, and by limits of the interpreter."""
    rows = _rows(tables / "cvqa_programs.csv")
    whole = {(row["set"], row["solver"]) for row in rows if row["type"] == "all"}
    for row in rows:
        counts = (
            (row.get("n_faults", "0"), "failed by an error of their own"),
            (row.get("n_limits", "0"), "by a limit of our interpreter"),
            (row.get("n_nothing", "0"), "returned nothing"),
        )
        failed = ", ".join(f"{count} {what}" for count, what in counts if count != "0")
        if failed and (row["type"] == "all" or (row["set"], row["solver"]) not in whole):
            where = f"{row['solver']} on {row['set']} ({row['type']}, {row['side']})"
            ran = f"{row['n_ran']} of {row['n_written']} ran"
            yield f"programs of {where}: {ran}, {failed}; {row['n_fallback']} put to the whole image"


def _condition(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in CONDITION)


def _scored(row: Row) -> str:
    return f"{row['n_scored']} of {row['n']} scored"


def _share(row: Row, name: str) -> str:
    return f"{row[name]} [{row[f'{name}_lo']}, {row[f'{name}_hi']}]" if row[name] else "not known"


def _rows(file: Path) -> list[dict[str, str]]:
    """The rows of a table; none where it was not made."""
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
