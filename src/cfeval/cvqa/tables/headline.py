"""The headline figures as `dvc metrics` reads them: table → row → figure. About thirty: what a reader compares."""

from collections.abc import Mapping, Sequence
from typing import Any

from cfeval.core.records import Record

Figures = dict[str, dict[str, float]]
READER = "reference"
"""Whose reading of the answers counts here; the tables have the other beside."""


def metrics(tables: Mapping[str, Sequence[Record]]) -> Figures:
    """Accuracy on counterfactual questions by set, solver and type, and how many drafts built sets accepted.

    Of puzzles all types together; baselines are left out.
    """
    found: Figures = {}
    if "table3" in tables:
        found["table3"] = _accuracies(tables["table3"], ("set", "solver", "type"), lambda row: row.type != "all")
    if "table7" in tables:
        found["table7"] = _accuracies(tables["table7"], ("set", "solver"), lambda row: row.type == "all")
    if "builds" in tables:
        found["builds"] = _builds(tables["builds"])
    return found


def _accuracies(rows: Sequence[Any], names: Sequence[str], wanted: Any) -> dict[str, float]:
    return {
        "/".join(getattr(row, name) for name in names): row.counterfactual
        for row in rows
        if row.kind != "baseline" and row.reader == READER and wanted(row) and row.counterfactual is not None
    }


def _builds(rows: Sequence[Any]) -> dict[str, float]:
    return {row.set: row.n_accepted for row in rows if row.type == "all"}
