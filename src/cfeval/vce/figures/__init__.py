"""The figures of vce by name."""

from collections.abc import Mapping

from cfeval.report.from_tables import Drawing

FIGURES: Mapping[str, Drawing] = {
    "validity": Drawing("cfeval.vce.figures.validity:draw", "methods"),
    "cost": Drawing("cfeval.vce.figures.cost:draw", "cost"),
}
