"""The headline figures as `dvc metrics` reads them: table → row → figure."""

from collections.abc import Mapping, Sequence

from cfeval.records.common import Record

Figures = dict[str, dict[str, dict[str, float]]]
_NAMES = (
    *("dataset", "vlm", "other", "target", "writer", "protocol", "editor", "judge"),
    *("judges", "score", "source"),
)
"""What a row may be called by, in the order of the paths of an arm's files."""
_KEPT = {
    *("n", "n_scored", "pcs", "ncc", "ac", "ef", "ccs", "ccs_graded", "accuracy", "edit_verified"),
    *("expected", "difference", "within_05", "corrected", "bench_ccs", "bench_graded"),
    *("noise_floor", "ccs_excess", "completeness", "sensitivity", "specificity", "auc", "error", "error_corrected"),
    *("agreement", "kappa", "alpha", "p_holm", "variance"),
}


def metrics(tables: Mapping[str, Sequence[Record]]) -> Figures:
    """The figures of each table by the names of the row; what does not exist is left out."""
    return {name: {_label(row): _figures(row) for row in of} for name, of in tables.items()}


def _label(row: Record) -> str:
    """The full name of an arm; of another row all names that it has."""
    return "/".join(getattr(row, name) for name in _NAMES if hasattr(row, name))


def _figures(row: Record) -> dict[str, float]:
    return row.model_dump(include=_KEPT, exclude_none=True)
