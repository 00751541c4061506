"""The headline figures as `dvc metrics` reads them: table → arm → figure."""

from collections.abc import Mapping, Sequence

from cfeval.records.common import Record
from cfeval.records.edct import Arm
from cfeval.tables.arms import label

Figures = dict[str, dict[str, dict[str, float]]]
_KEPT = {
    *("n", "n_scored", "pcs", "ncc", "ac", "ef", "ccs", "ccs_graded", "accuracy", "edit_verified"),
    *("expected", "difference", "within_05", "corrected", "bench_ccs", "bench_graded"),
    *("noise_floor", "ccs_excess", "completeness"),
}


def metrics(tables: Mapping[str, Sequence[Record]]) -> Figures:
    """The figures of each table by the full name of the arm; what does not exist is left out."""
    return {name: {_label(row): _figures(row) for row in of} for name, of in tables.items()}


def _label(row: Record) -> str:
    """All names of an arm, or as many as the row has."""
    if isinstance(row, Arm):
        return label(row)
    names = ("dataset", "vlm", "writer", "protocol", "editor", "judge")
    return "/".join(getattr(row, name) for name in names if hasattr(row, name))


def _figures(row: Record) -> dict[str, float]:
    return row.model_dump(include=_KEPT, exclude_none=True)
