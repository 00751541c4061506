"""C-VQA, Table 7: accuracy on synthetic puzzles, by template and over all."""

from collections.abc import Sequence

from cfeval.records.cvqa import SYNTHETIC
from cfeval.records.cvqa_tables import AccuracyRow
from cfeval.tables.cvqa_accuracy import accuracy_sheet, rows_of
from cfeval.tables.cvqa_items import in_short
from cfeval.tables.cvqa_material import CvqaMaterial
from cfeval.tables.formats import Sheet, Table

EMPTY = "Empty: nobody answered synthetic puzzles without chain of thought."
NOTE = (
    "The paper has no rule that reads letters; here `reference` is the first letter that stands alone, else "
    "the only option whose value is named."
)


def rows(material: CvqaMaterial) -> list[AccuracyRow]:
    """Answerers without chain of thought; baselines below those of their set."""
    arms = [arm for arm, of in material.scores.items() if of and of[0].type in SYNTHETIC]
    arms = [arm for arm in arms if not material.facts(arm.answerer).cot]
    return rows_of(material, "table7", arms)


def sheet(of: Sequence[AccuracyRow]) -> Sheet:
    """The table for readers; baselines over all templates only."""
    shown = [row for row in of if row.kind != "baseline" or row in in_short(of)]
    return accuracy_sheet("cvqa_table7", "C-VQA, Table 7: synthetic puzzles", shown, EMPTY, more=[NOTE])


TABLE = Table(row=AccuracyRow, rows=rows, sheet=sheet)
