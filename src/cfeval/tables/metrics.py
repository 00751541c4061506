"""The headline figures as `dvc metrics` reads them: table → arm → figure."""

from collections.abc import Mapping, Sequence

from cfeval.records.tables import ArmRow, CalibrationRow
from cfeval.tables.arms import label

Figures = dict[str, dict[str, dict[str, float]]]
_KEPT = {"n", "n_scored", "pcs", "ncc", "ccs", "accuracy", "edit_verified", "expected", "difference", "within_05"}


def metrics(tables: Mapping[str, Sequence[ArmRow] | Sequence[CalibrationRow]]) -> Figures:
    """The figures of each table by the full name of the arm; what does not exist is left out."""
    return {name: {label(row): _figures(row) for row in of} for name, of in tables.items()}


def _figures(row: ArmRow | CalibrationRow) -> dict[str, float]:
    return row.model_dump(include=_KEPT, exclude_none=True)
