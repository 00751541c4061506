"""The figures, one file each: `figure_STUDY_NAME.py` draws it with `draw(rows)` from the rows of one table."""

from collections.abc import Mapping
from typing import NamedTuple


class Drawing(NamedTuple):
    """How a figure comes about."""

    draw: str
    """The function that draws it."""
    table: str
    """The table from whose rows."""


DRAWINGS: Mapping[str, Mapping[str, Drawing]] = {
    "edct": {
        "forest": Drawing("cfeval.report.figure_edct_forest:draw", "table1"),
        "axes": Drawing("cfeval.report.figure_edct_axes:draw", "controls"),
        "calibration": Drawing("cfeval.report.figure_edct_calibration:draw", "calibration"),
    },
    "vce": {"validity": Drawing("cfeval.report.figure_vce_validity:draw", "methods")},
    "cvqa": {
        "answers": Drawing("cfeval.report.figure_cvqa_answers:draw", "answers"),
        "accuracy": Drawing("cfeval.report.figure_cvqa_accuracy:draw", "table3"),
        "puzzles": Drawing("cfeval.report.figure_cvqa_puzzles:draw", "table7"),
        "bias": Drawing("cfeval.report.figure_cvqa_bias:draw", "bias"),
    },
}
"""The figures of each study by name."""
