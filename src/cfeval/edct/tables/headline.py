"""The headline figures as `dvc metrics` reads them: table → row → figure. At most fifty: what a reader compares.

CCS is never alone: a row of its tables has strict CCS and the citation rate as well.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from cfeval.core.records import Record
from cfeval.edct.pairs.records import PairCondition
from cfeval.edct.tables.scores import NAMES
from cfeval.report.tables import varying

Figures = dict[str, dict[str, Any]]
CITED = ("ccs", "strict_ccs", "citation_rate")
HEADLINES = {"table1": CITED, "table2": CITED, "bench": CITED, "faithfulness": ("fit",), "pairs": ("phi",)}
"""The figures of each row of a table."""


def metrics(tables: Mapping[str, Sequence[Record]]) -> Figures:
    """The figures of each row by the names in which the rows differ; what does not exist is left out, and of given
    pairs the kinds of change. A row of several figures has them by their columns.

    Of the calibration: the share of settings whose CCS lies within .05 of what is known, and the largest difference.
    """
    found = {name: _rows(tables[name], figures) for name, figures in HEADLINES.items() if name in tables}
    return found | ({"calibration": _calibration(tables["calibration"])} if "calibration" in tables else {})


def _rows(rows: Sequence[Any], figures: Sequence[str]) -> dict[str, Any]:
    pairs = bool(rows) and isinstance(rows[0], PairCondition)
    whole = [row for row in rows if not (pairs and row.kind)]
    names = varying(whole, tuple(PairCondition.model_fields) if pairs else NAMES)
    found = {}
    for row in whole:
        told = {figure: value for figure in figures if (value := getattr(row, figure)) is not None}
        if told:
            found["/".join(getattr(row, name) for name in names)] = told if len(figures) > 1 else told[figures[0]]
    return found


def _calibration(rows: Sequence[Any]) -> dict[str, float]:
    within = [row.within_05 for row in rows if row.within_05 is not None]
    differences = [abs(row.difference) for row in rows if row.difference is not None]
    found = {"settings": len(rows), "within_05": round(sum(within) / len(within), 4) if within else None}
    return {k: v for k, v in {**found, "largest_difference": max(differences, default=None)}.items() if v is not None}
