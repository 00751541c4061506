"""The figures of edct by name."""

from collections.abc import Mapping

from cfeval.report.figures import Drawing

FIGURES: Mapping[str, Drawing] = {
    "forest": Drawing("cfeval.report.figure_edct_forest:draw", "table1"),
    "axes": Drawing("cfeval.report.figure_edct_axes:draw", "controls"),
    "calibration": Drawing("cfeval.report.figure_edct_calibration:draw", "calibration"),
}
