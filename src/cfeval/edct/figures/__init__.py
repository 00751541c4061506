"""The figures of edct by name."""

from collections.abc import Mapping

from cfeval.report.from_tables import Drawing

FIGURES: Mapping[str, Drawing] = {
    "forest": Drawing("cfeval.edct.figures.axes:draw_forest", "table1"),
    "axes": Drawing("cfeval.edct.figures.axes:draw_axes", "controls"),
    "test_models": Drawing("cfeval.edct.figures.calibration:draw_test_models", "test_models"),
    "calibration": Drawing("cfeval.edct.figures.calibration:draw_calibration", "calibration"),
    "pairs": Drawing("cfeval.edct.figures.pairs:draw", "pairs"),
}
