"""The figures of cvqa by name."""

from collections.abc import Mapping

from cfeval.report.from_tables import Drawing

FIGURES: Mapping[str, Drawing] = {
    "answers": Drawing("cfeval.cvqa.figures.answers:draw", "answers"),
    "accuracy": Drawing("cfeval.cvqa.figures.accuracy:draw", "table3"),
    "puzzles": Drawing("cfeval.cvqa.figures.accuracy:draw_puzzles", "table7"),
    "bias": Drawing("cfeval.cvqa.figures.bias:draw", "bias"),
}
