"""The headline figures as `dvc metrics` reads them: table → row → figure. About thirty: what a reader compares."""

from collections.abc import Mapping, Sequence
from typing import Any

from cfeval.core.records import Record
from cfeval.edct.pairs.condition import PairCondition
from cfeval.edct.tables.scores import NAMES
from cfeval.report.tables import varying

Figures = dict[str, dict[str, float]]
HEADLINES = {"table1": "ccs", "table2": "ccs", "bench": "ccs", "faithfulness": "fit", "pairs": "phi"}
"""The one figure of each row of a table."""


def metrics(tables: Mapping[str, Sequence[Record]]) -> Figures:
    """The figure of each row by the names in which the rows differ; what does not exist is left out, and of given pairs
    the kinds of change.

    Of the calibration: the share of settings whose CCS lies within .05 of what is known, and the largest difference.
    """
    found = {name: _rows(tables[name], figure) for name, figure in HEADLINES.items() if name in tables}
    return found | ({"calibration": _calibration(tables["calibration"])} if "calibration" in tables else {})


def _rows(rows: Sequence[Any], figure: str) -> dict[str, float]:
    pairs = bool(rows) and isinstance(rows[0], PairCondition)
    whole = [row for row in rows if not (pairs and row.kind)]
    names = varying(whole, tuple(PairCondition.model_fields) if pairs else NAMES)
    told = {"/".join(getattr(row, name) for name in names): getattr(row, figure) for row in whole}
    return {label: value for label, value in told.items() if value is not None}


def _calibration(rows: Sequence[Any]) -> dict[str, float]:
    within = [row.within_05 for row in rows if row.within_05 is not None]
    differences = [abs(row.difference) for row in rows if row.difference is not None]
    found = {"settings": len(rows), "within_05": round(sum(within) / len(within), 4) if within else None}
    return {k: v for k, v in {**found, "largest_difference": max(differences, default=None)}.items() if v is not None}
