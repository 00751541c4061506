"""The figures of cvqa by name."""

from collections.abc import Mapping

from cfeval.report.figures import Drawing

FIGURES: Mapping[str, Drawing] = {
    "answers": Drawing("cfeval.report.figure_cvqa_answers:draw", "answers"),
    "accuracy": Drawing("cfeval.report.figure_cvqa_accuracy:draw", "table3"),
    "puzzles": Drawing("cfeval.report.figure_cvqa_puzzles:draw", "table7"),
    "bias": Drawing("cfeval.report.figure_cvqa_bias:draw", "bias"),
}
