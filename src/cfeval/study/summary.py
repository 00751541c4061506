"""What a script gets of a run, as JSON: each condition's figures and conclusion, items scored and missing, cost."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from cfeval.config import Params
from cfeval.inference.remote.cache import ResponseCache
from cfeval.report.tables import cell
from cfeval.study.outcome import (
    CONDITION,
    Row,
    cvqa_rows,
    edct_rows,
    evaluations_of,
    pair_rows,
    report_of,
    vce_rows,
)

_PAIRS = ("pair_set", "vlm", "pair_judge")
_VCE = ("image_set", "denoiser", "classifier", "method")
_CVQA = ("set", "solver", "type")


@contextmanager
def only_json_on_stdout() -> Iterator[None]:
    """Send what this process and its children print to stderr, so that stdout has the JSON alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def summary(params: Params, root: str, folder: Path) -> dict[str, Any]:
    """A finished study: its conditions, the items scored and missing, its reports, what its calls have cost.

    Args:
        params: the study's.
        root: its folder of results, in the current folder.
        folder: the study's folder as the user named it; paths begin with it.
    """
    conditions = [*_edct(Path(root, "edct/tables")), *_pairs(Path(root, "edct/tables"))] if params.edct else []
    conditions += _vce(Path(root, "vce/tables")) if params.vce else []
    conditions += _cvqa(Path(root, "cvqa/tables")) if params.cvqa else []
    return {
        "study": str(folder),
        "results": str(folder / root),
        "conditions": conditions,
        "scored": sum(condition["scored"] for condition in conditions),
        "missing": sum(condition["missing"] for condition in conditions),
        "report": str(folder / report_of(params, root)),
        "reports": {name: str(folder / report_of(params, root, name)) for name in evaluations_of(params)},
        "cost": _cost(Path(params.calls.cache)),
    }


def _edct(tables: Path) -> Iterator[dict[str, Any]]:
    for row, card in edct_rows(tables):
        figures = {name: _interval(row, name) for name in ("pcs", "ncc", "ccs")}
        figures |= {"fit": _interval(card, "fit")} if card else {}
        conclusion = {"conclusion": card.get("conclusion"), "why": card.get("why")}
        yield _condition("edct", row, CONDITION, figures) | conclusion


def _pairs(tables: Path) -> Iterator[dict[str, Any]]:
    for row in pair_rows(tables):
        yield _condition("edct", row, _PAIRS, {name: _interval(row, name) for name in ("phi", "moved")})


def _vce(tables: Path) -> Iterator[dict[str, Any]]:
    for row in vce_rows(tables):
        yield _condition("vce", row, _VCE, {"ta": {"value": _number(row["mean"]), "sd": _number(row["sd"])}})


def _cvqa(tables: Path) -> Iterator[dict[str, Any]]:
    names = ("original", "counterfactual", "difference")
    for one, published in cvqa_rows(tables):
        row = {name: cell(value) for name, value in one.model_dump().items()}
        figures = {name: _interval(row, name) | _range(row, name) for name in names}
        beside = {name: None if published is None else getattr(published, name) for name in names}
        yield _condition("cvqa", row, _CVQA, figures) | {"as_published": beside}


def _condition(evaluation: str, row: Row, names: Sequence[str], figures: Mapping[str, Any]) -> dict[str, Any]:
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
    ends = {"value": name, "low": f"{name}_lo", "high": f"{name}_hi"}
    return {end: _number(row.get(column, "")) for end, column in ends.items()}


def _range(row: Row, name: str) -> dict[str, float | None]:
    """What a figure could be, whatever the missing scores were."""
    return {end: _number(row.get(f"{name}_{end}", "")) for end in ("min", "max")}


def _number(text: str) -> float | None:
    return float(text) if text else None


def _cost(file: Path) -> dict[str, float | int]:
    """What all calls of the study's response cache have cost, in USD; `maybe_usd` may have been paid besides."""
    rows: list[dict[str, Any]] = []
    if file.is_file():
        cache = ResponseCache(file)
        try:
            rows = cache.ledger()
        finally:
            cache.close()
    columns = {"sent": "sent", "usd": "paid_usd", "maybe_usd": "maybe_paid_usd"}
    return {name: sum(row[column] or 0 for row in rows) for name, column in columns.items()}
