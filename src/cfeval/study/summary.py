"""What came of a run, by its tables: a line for each condition, and the same for scripts as JSON."""

import csv
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from cfeval.config import Params
from cfeval.core.errors import InputError, nearest
from cfeval.core.folder import EVALUATIONS
from cfeval.core.jsonl import read_csv
from cfeval.cvqa.tables.accuracy import SHOWN, AccuracyRow, Shown, shown
from cfeval.cvqa.tables.items import arrow, range_cell
from cfeval.inference.remote.cache import ResponseCache
from cfeval.report.tables import cell
from cfeval.vce.tables.answer import AnswerRow, sentences

# A row of a table, by column.
Row = Mapping[str, str]
# The columns that tell conditions apart.
_EDCT = ("dataset", "vlm", "writer", "protocol", "editor", "judge")
_PAIRS = ("pair_set", "vlm", "pair_judge")
_VCE = ("image_set", "denoiser", "classifier", "method")
_CVQA = ("set", "solver", "type")


@contextmanager
def only_json_on_stdout() -> Iterator[None]:
    """Send what this process and its children print to stderr, so that stdout has the JSON alone."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def report_of(params: Params, root: str, evaluation: str = "") -> Path:
    """The page of an evaluation; of the first that the study has where none is named.

    Raises:
        InputError: the study has no evaluation of that name.
    """
    evaluations = evaluations_of(params)
    if evaluation and evaluation not in evaluations:
        raise InputError(f"--evaluation: the study has no '{evaluation}'; {nearest(evaluation, evaluations)}")
    return Path(root, evaluation or evaluations[0], "report/index.html")


def evaluations_of(params: Params) -> list[str]:
    """The evaluations that a study has."""
    return [name for name in EVALUATIONS if getattr(params, name)]


def summary(params: Params, root: str, folder: Path) -> dict[str, Any]:
    """A finished study as JSON: its conditions, the items scored and missing, its reports, what its calls have cost.

    Args:
        params: the study's.
        root: its folder of results, in the current folder.
        folder: the study's folder as the user named it; paths begin with it.
    """
    conditions = [
        condition
        for evaluation, of_tables in (("edct", _edct_json), ("vce", _vce_json), ("cvqa", _cvqa_json))
        if getattr(params, evaluation)
        for condition in of_tables(Path(root, evaluation, "tables"))
    ]
    file = Path(params.calls.cache)
    rows: list[dict[str, Any]] = []
    if file.is_file():
        with closing(ResponseCache(file)) as cache:
            rows = cache.ledger()
    # Up to `maybe_usd` more may have been paid than the figures say.
    columns = {"sent": "sent", "usd": "paid_usd", "maybe_usd": "maybe_paid_usd"}
    return {
        "study": str(folder),
        "results": str(folder / root),
        "conditions": conditions,
        "scored": sum(condition["scored"] for condition in conditions),
        "missing": sum(condition["missing"] for condition in conditions),
        "report": str(folder / report_of(params, root)),
        "reports": {name: str(folder / report_of(params, root, name)) for name in evaluations_of(params)},
        "cost": {name: sum(row[column] or 0 for row in rows) for name, column in columns.items()},
    }


def _edct_json(tables: Path) -> Iterator[dict[str, Any]]:
    for row, card in _edct_rows(tables):
        figures = {name: _interval(row, name) for name in ("pcs", "ncc", "ccs")}
        figures |= {"fit": _interval(card, "fit")} if card else {}
        conclusion = {"conclusion": card.get("conclusion"), "why": card.get("why")}
        yield _condition_json("edct", row, _EDCT, figures) | conclusion
    for row in _pair_rows(tables):
        yield _condition_json("edct", row, _PAIRS, {name: _interval(row, name) for name in ("phi", "moved")})


def _vce_json(tables: Path) -> Iterator[dict[str, Any]]:
    for row in _vce_rows(tables):
        yield _condition_json("vce", row, _VCE, {"ta": {"value": _number(row["mean"]), "sd": _number(row["sd"])}})


def _cvqa_json(tables: Path) -> Iterator[dict[str, Any]]:
    names = ("original", "counterfactual", "difference")
    for accuracy, published in _cvqa_rows(tables):
        row = {name: cell(value) for name, value in accuracy.model_dump().items()}
        bounds = {
            name: {end: _number(row.get(f"{name}_{end}", "")) for end in ("min", "max")}  # whatever is missing
            for name in names
        }
        figures = {name: _interval(row, name) | bounds[name] for name in names}
        as_published = {name: None if published is None else getattr(published, name) for name in names}
        yield _condition_json("cvqa", row, _CVQA, figures) | {"as_published": as_published}


def _condition_json(evaluation: str, row: Row, names: Sequence[str], figures: Mapping[str, Any]) -> dict[str, Any]:
    scored, items = int(row["n_scored"]), int(row["n"])
    return {
        "evaluation": evaluation,
        **{name: row[name] for name in names if name in row},
        "figures": dict(figures),
        "scored": scored,
        "missing": items - scored,
        "missing_by_reason": row.get("missing", ""),
    }


def _interval(row: Row, name: str) -> dict[str, float | None]:
    columns = {"value": name, "low": f"{name}_lo", "high": f"{name}_hi"}
    return {end: _number(row.get(column, "")) for end, column in columns.items()}


def _number(text: str) -> float | None:
    return float(text) if text else None


def outcomes(params: Params, root: str) -> list[str]:
    """What the tables say of each condition of each evaluation of a study, on a line."""
    lines = list(_edct_lines(Path(root, "edct/tables"))) if params.edct else []
    lines += _vce_lines(Path(root, "vce/tables")) if params.vce else []
    lines += [*_cvqa_lines(Path(root, "cvqa/tables")), *programs(Path(root, "cvqa/tables"))] if params.cvqa else []
    return lines


def _edct_lines(tables: Path) -> Iterator[str]:
    for row, card in _edct_rows(tables):
        figures = [f"{card['conclusion']}, FIT {_share(card, 'fit')}"] if card else []
        figures += [f"CCS {_share(row, 'ccs')}", _scored(row)]
        yield f"{row['vlm']} on {row['dataset']} by {row['judge']}: {', '.join(figures)}"
    for row in _pair_rows(tables):
        figures = [f"φ {_share(row, 'phi')}", f"answer moved {_share(row, 'moved')}", _scored(row)]
        yield f"{row['vlm']} on the pairs of {row['pair_set']} by {row['pair_judge']}: {', '.join(figures)}"


def _vce_lines(tables: Path) -> Iterator[str]:
    file = tables / "vce_answer.csv"
    if file.is_file() and (answer := sentences(read_csv(file, AnswerRow))):
        yield " ".join(answer)
    for row in _vce_rows(tables):
        share = f"{row['mean'] or '?'} taken for the target class"
        yield f"{row['classifier']} by {row['method']}: {share}, {_scored(row)}"


def _cvqa_lines(tables: Path) -> Iterator[str]:
    for row, published in _cvqa_rows(tables):
        right = f'{_ranged(row, "original")} right as it is, {_ranged(row, "counterfactual")} under the "if"'
        if row.alone:
            right = f'{_ranged(row, "counterfactual")} right under the "if" (asked alone: no drop)'
        scored = f"{row.n_scored} of {row.n} scored"
        both = arrow(published.original, published.counterfactual) if published and not row.alone else ""
        as_published = f"; as published {both}" if both else ""
        yield f"{row.solver} on {row.set} ({row.type}): {right}, {scored}{as_published}"


def _ranged(row: AccuracyRow, name: str) -> str:
    """A figure, and in brackets the same over all pairs, whatever the missing scores are."""
    bounds = range_cell(row, name)
    return (cell(getattr(row, name)) or "?") + (f" ({bounds})" if bounds else "")


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


def _scored(row: Row) -> str:
    return f"{row['n_scored']} of {row['n']} scored"


def _share(row: Row, name: str) -> str:
    return f"{row[name]} [{row[f'{name}_lo']}, {row[f'{name}_hi']}]" if row[name] else "not known"


def _edct_rows(tables: Path) -> Iterator[tuple[Row, Row]]:
    """The conditions of Table 1, each with its trust card, which is empty where it has none."""
    cards = {tuple(row[name] for name in _EDCT): row for row in _rows(tables / "edct_card.csv")}
    for row in _rows(tables / "edct_table1.csv"):
        yield row, cards.get(tuple(row[name] for name in _EDCT), {})


def _pair_rows(tables: Path) -> list[Row]:
    """The targets that were asked about given pairs, over all kinds of change."""
    return [row for row in _rows(tables / "edct_pairs.csv") if not row["kind"]]


def _vce_rows(tables: Path) -> list[Row]:
    """The classifiers and methods, by the share of counterfactuals that show the target class to the classifier."""
    return [row for row in _rows(tables / "vce_methods.csv") if row.get("metric") == "ta"]


def _cvqa_rows(tables: Path) -> list[Shown]:
    """The solvers by set and type of question, as the page's first screen shows them."""
    files = {name: tables / f"cvqa_{name}.csv" for name in SHOWN}
    return shown({name: read_csv(file, AccuracyRow) for name, file in files.items() if file.is_file()})


def _rows(file: Path) -> list[Row]:
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
