"""C-VQA, Table 3: accuracy on original and counterfactual questions of the real set, by group."""

from collections.abc import Sequence

from cfeval.records.cvqa import REAL
from cfeval.records.cvqa_tables import AccuracyRow
from cfeval.tables.cvqa_accuracy import accuracy_sheet, rows_of
from cfeval.tables.cvqa_material import CvqaMaterial
from cfeval.tables.formats import Sheet, Table

EMPTY = "Empty: nobody answered a whole set of questions of these types without chain of thought."


def rows(material: CvqaMaterial) -> list[AccuracyRow]:
    """Answerers without chain of thought on whole sets; baselines below those of their set."""
    arms = [arm for arm, of in material.scores.items() if of and of[0].type in REAL]
    arms = [arm for arm in arms if not material.is_subset(arm.set) and not material.facts(arm.answerer).cot]
    return rows_of(material, "table3", arms)


def sheet(of: Sequence[AccuracyRow]) -> Sheet:
    """The table for readers."""
    return accuracy_sheet("cvqa_table3", "C-VQA, Table 3: original and counterfactual questions, by group", of, EMPTY)


TABLE = Table(row=AccuracyRow, rows=rows, sheet=sheet)
