"""C-VQA, Table 5: accuracy on a drawn part of a set, which stands in no column with the whole set's."""

from collections.abc import Sequence

from cfeval.records.cvqa import REAL
from cfeval.records.cvqa_tables import AccuracyRow
from cfeval.tables.cvqa_accuracy import accuracy_sheet, rows_of
from cfeval.tables.cvqa_material import CvqaMaterial
from cfeval.tables.formats import Sheet, Table

EMPTY = "Empty: nobody answered a set that is a drawn part of another."
NOTE = "A drawn part of the set: not to be compared with figures of the whole (C-VQA, Table 5)."


def rows(material: CvqaMaterial) -> list[AccuracyRow]:
    """Answerers without chain of thought on drawn parts of sets, with their baselines."""
    arms = [arm for arm, of in material.scores.items() if of and of[0].type in REAL]
    arms = [arm for arm in arms if material.is_subset(arm.set) and not material.facts(arm.answerer).cot]
    return rows_of(material, "table5", arms)


def sheet(of: Sequence[AccuracyRow]) -> Sheet:
    """The table for readers."""
    return accuracy_sheet("cvqa_table5", "C-VQA, Table 5: on a drawn part of the questions", of, EMPTY, more=[NOTE])


TABLE = Table(row=AccuracyRow, rows=rows, sheet=sheet)
