"""How often each answer is right (C-VQA, Figure 3)."""

from collections.abc import Sequence

from cfeval.records.cvqa import SIDES
from cfeval.records.cvqa_tables import AnswersRow
from cfeval.studies.cvqa.statistics import count
from cfeval.tables.cvqa_material import CvqaMaterial
from cfeval.tables.formats import Sheet, Table, cell
from cfeval.tables.items import rounded

EMPTY = "Empty: there is no set."
_SHOWN = 6
"""Answers a group that the sheet shows; the CSV has them all."""


def rows(material: CvqaMaterial) -> list[AnswersRow]:
    """A row for each set, type, side and answer: numbers ascending, else the alphabet."""
    return [
        AnswersRow(set=name, type=kind, side=side, answer=answer, count=n, share=rounded(n / of.n) or 0.0)
        for name, pairs in material.pairs.items()
        for kind, of in count(pairs).items()
        if kind != "all"
        for side in SIDES
        for answer, n in sorted(of.answers[side].items(), key=lambda found: _rank(found[0]))
    ]


def sheet(of: Sequence[AnswersRow]) -> Sheet:
    """The table for readers: the commonest answers of each group."""
    groups: dict[tuple[str, str, str], list[AnswersRow]] = {}
    for row in of:
        groups.setdefault((row.set, row.type, row.side), []).append(row)
    body = tuple((*names, _commonest(some)) for names, some in groups.items())
    note = f"The {_SHOWN} commonest answers of each group; the CSV has them all." if of else EMPTY
    return Sheet("cvqa_answers", "Right answers", ("Set", "Type", "Side", "Answers and their shares"), body, (note,))


def _commonest(of: Sequence[AnswersRow]) -> str:
    ordered = sorted(of, key=lambda row: (-row.count, _rank(row.answer)))
    return ", ".join(f"{row.answer} ({cell(row.share)})" for row in ordered[:_SHOWN])


def _rank(answer: str) -> tuple[int, str]:
    return (int(answer), "") if answer.isdigit() else (-1, answer)


TABLE = Table(row=AnswersRow, rows=rows, sheet=sheet)
