"""C-VQA, Table 6: the same programs' surface and vision, written for by other language models."""

from collections.abc import Sequence

from cfeval.records.cvqa_tables import AccuracyRow
from cfeval.tables.cvqa_accuracy import accuracy_sheet, rows_of
from cfeval.tables.cvqa_items import in_short
from cfeval.tables.cvqa_material import CvqaMaterial
from cfeval.tables.formats import Sheet, Table

EMPTY = "Empty: no answerer writes programs."


def rows(material: CvqaMaterial) -> list[AccuracyRow]:
    """Answerers that write programs, on whole sets; no baselines."""
    arms = [arm for arm, of in material.scores.items() if of and material.facts(arm.answerer).kind == "program"]
    arms = [arm for arm in arms if not material.is_subset(arm.set)]
    return [row for row in rows_of(material, "table6", arms) if row.kind != "baseline"]


def sheet(of: Sequence[AccuracyRow]) -> Sheet:
    """The table for readers, by language model."""
    title = "C-VQA, Table 6: programs by the language model that writes them"
    return accuracy_sheet("cvqa_table6", title, in_short(of), EMPTY, first="llm")


TABLE = Table(row=AccuracyRow, rows=rows, sheet=sheet)
