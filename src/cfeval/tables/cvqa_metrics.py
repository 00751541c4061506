"""The cvqa study's headline figures as `dvc metrics` reads them: table → row → figure. Few: what a reader compares."""

from collections.abc import Mapping, Sequence
from typing import Any

from cfeval.records.common import Record

Figures = dict[str, dict[str, dict[str, float]]]
_ACCURACIES = ("table3", "table7")
_FIGURES = ("original", "counterfactual", "difference", "n", "n_scored")


def metrics(tables: Mapping[str, Sequence[Record]]) -> Figures:
    """Accuracies by set, answerer, type and reader, and how many drafts built sets accepted; baselines are left out."""
    found = {name: _accuracies(of) for name, of in tables.items() if name in _ACCURACIES}
    return found | {"builds": _builds(tables["builds"])} if "builds" in tables else found


def _accuracies(rows: Sequence[Any]) -> dict[str, dict[str, float]]:
    return {
        f"{row.set}/{row.answerer}/{row.type}/{row.reader}": {
            name: getattr(row, name) for name in _FIGURES if getattr(row, name) is not None
        }
        for row in rows
        if row.kind != "baseline"
    }


def _builds(rows: Sequence[Any]) -> dict[str, dict[str, float]]:
    return {f"{row.set}/{row.type}": {"n": row.n, "n_accepted": row.n_accepted} for row in rows}
