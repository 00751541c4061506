"""Original and counterfactual puzzles: how accuracy moves, by answerer and template (C-VQA, Table 7)."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from cfeval.records.cvqa_tables import AccuracyRow
from cfeval.report import figure_cvqa_accuracy
from cfeval.tables.cvqa_table7 import EMPTY


def draw(rows: Sequence[AccuracyRow]) -> Figure:
    """As `figure_cvqa_accuracy`; of several templates also all together."""
    return figure_cvqa_accuracy.draw(rows, EMPTY)
