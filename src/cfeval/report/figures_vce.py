"""The figures of vce by name."""

from collections.abc import Mapping

from cfeval.report.figures import Drawing

FIGURES: Mapping[str, Drawing] = {"validity": Drawing("cfeval.report.figure_vce_validity:draw", "methods")}
