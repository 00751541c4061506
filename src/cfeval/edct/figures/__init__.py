"""The figures of edct by name."""

from collections.abc import Mapping

from cfeval.report.from_tables import Drawing

FIGURES: Mapping[str, Drawing] = {
    "forest": Drawing("cfeval.edct.figures.forest:draw", "table1"),
    "axes": Drawing("cfeval.edct.figures.axes:draw", "controls"),
    "test_models": Drawing("cfeval.edct.figures.test_models:draw", "test_models"),
    "calibration": Drawing("cfeval.edct.figures.calibration:draw", "calibration"),
    "pairs": Drawing("cfeval.edct.figures.pairs:draw", "pairs"),
}
