"""Sets of questions in figures: sizes, lengths, what can be scored without looking at an image (C-VQA, Section 3.4).

And how often each answer is right (C-VQA, Figure 3).
"""

from collections.abc import Sequence

from cfeval.core.records import Record
from cfeval.cvqa.csv_format import LETTERS
from cfeval.cvqa.records import SIDES, Side
from cfeval.cvqa.stages.statistics import Counts, count
from cfeval.cvqa.tables.accuracy import arrow
from cfeval.cvqa.tables.replies import CvqaTableData
from cfeval.report.tables import Figure, Figures, RenderedTable, Table, cell
from cfeval.stats.intervals import rounded

EMPTY = "Empty: there is no set."
NOTE = (
    "Original → counterfactual. Majority: the share of the commonest right answer, which always saying it would score; "
    "negate: the share of counterfactual answers that are the opposite of the original one."
)
_SHOWN = 6
"""Answers a group that the sheet shows; the CSV has them all."""


class StatisticsRow(Record):
    """A group of a set in figures (cvqa_statistics; C-VQA, Section 3.4)."""

    set: str
    type: str
    """A type of pair, or `all`."""
    n: int
    """Pairs."""
    images: int
    """Different images."""
    words_original: Figure = None
    """Mean number of words."""
    words_counterfactual: Figure = None
    if_inside: int = 0
    """Counterfactual questions with ` if ` in them, in small or capital letters."""
    if_first: int = 0
    """Those that begin with `If`."""
    unchanged: int = 0
    """Pairs whose answer the presupposition does not change."""
    majority_original: Figure = None
    """Share of the commonest right answer: what always saying it would score."""
    majority_original_answer: str = ""
    majority_counterfactual: Figure = None
    majority_counterfactual_answer: str = ""
    negate: Figure = None
    """Share of counterfactual answers that are the opposite of the original's; yes and no only."""
    yes_original: Figure = None
    """Share of `yes`; of questions that have yes or no."""
    yes_counterfactual: Figure = None
    a_original: Figure = None
    """Share of the letter A, and so on; of questions with options."""
    b_original: Figure = None
    c_original: Figure = None
    d_original: Figure = None
    a_counterfactual: Figure = None
    b_counterfactual: Figure = None
    c_counterfactual: Figure = None
    d_counterfactual: Figure = None


def statistics_rows(material: CvqaTableData) -> list[StatisticsRow]:
    """A row for each set and type, then `all` its types."""
    return [_row(name, kind, of) for name, pairs in material.pairs.items() for kind, of in count(pairs).items() if of.n]


def statistics_sheet(of: Sequence[StatisticsRow]) -> RenderedTable:
    """The table for readers."""
    headings = ("Set", "Type", "Pairs", "Images", "Words", "Unchanged", "Majority", "Negate", "Yes", "A B C D")
    return RenderedTable(
        "cvqa_statistics", "Sets of questions", headings, tuple(map(_cells, of)), (NOTE if of else EMPTY,)
    )


def _row(name: str, kind: str, of: Counts) -> StatisticsRow:
    figures: Figures = {"set": name, "type": kind, "n": of.n, "images": len(of.images)}
    figures |= {"if_inside": of.if_inside, "if_first": of.if_first, "unchanged": of.unchanged}
    for side in SIDES:
        answer, share = of.majority(side)
        figures |= {f"words_{side}": rounded(of.mean_words(side)), f"majority_{side}": rounded(share)}
        figures |= {f"majority_{side}_answer": answer} | _shares(of, side)
    if of.booleans == of.n:
        figures["negate"] = rounded(of.negated / of.n)
    return StatisticsRow.model_validate(figures)


def _shares(of: Counts, side: Side) -> Figures:
    """Shares of yes, or of letters, where all answers are of that form."""
    if of.booleans == of.n:
        return {f"yes_{side}": rounded(of.share(side, "yes"))}
    if of.choices == of.n:
        return {f"{letter.lower()}_{side}": rounded(of.share(side, letter)) for letter in LETTERS}
    return {}


def _cells(row: StatisticsRow) -> tuple[str, ...]:
    words = "" if row.words_original is None else f"{row.words_original:.2f} → {row.words_counterfactual:.2f}"
    letters = [arrow(getattr(row, f"{x}_original"), getattr(row, f"{x}_counterfactual")) for x in "abcd"]
    return (
        *(row.set, row.type, str(row.n), str(row.images), words, str(row.unchanged)),
        *(arrow(row.majority_original, row.majority_counterfactual), cell(row.negate)),
        *(arrow(row.yes_original, row.yes_counterfactual), "; ".join(text for text in letters if text)),
    )


class AnswersRow(Record):
    """How often an answer is right in a group (cvqa_answers; C-VQA, Figure 3)."""

    set: str
    type: str
    side: str
    answer: str
    count: int
    share: float
    """Of the group's questions on that side."""


def answers_rows(material: CvqaTableData) -> list[AnswersRow]:
    """A row for each set, type, side and answer: numbers ascending, else the alphabet."""
    return [
        AnswersRow(set=name, type=kind, side=side, answer=answer, count=n, share=rounded(n / of.n) or 0.0)
        for name, pairs in material.pairs.items()
        for kind, of in count(pairs).items()
        if kind != "all"
        for side in SIDES
        for answer, n in sorted(of.answers[side].items(), key=lambda found: _rank(found[0]))
    ]


def answers_sheet(of: Sequence[AnswersRow]) -> RenderedTable:
    """The table for readers: the commonest answers of each group."""
    groups: dict[tuple[str, str, str], list[AnswersRow]] = {}
    for row in of:
        groups.setdefault((row.set, row.type, row.side), []).append(row)
    body = tuple((*names, _commonest(some)) for names, some in groups.items())
    note = f"The {_SHOWN} commonest answers of each group; the CSV has them all." if of else EMPTY
    return RenderedTable(
        "cvqa_answers", "Right answers", ("Set", "Type", "Side", "Answers and their shares"), body, (note,)
    )


def _commonest(of: Sequence[AnswersRow]) -> str:
    ordered = sorted(of, key=lambda row: (-row.count, _rank(row.answer)))
    return ", ".join(f"{row.answer} ({cell(row.share)})" for row in ordered[:_SHOWN])


def _rank(answer: str) -> tuple[int, str]:
    return (int(answer), "") if answer.isdigit() else (-1, answer)


STATISTICS = Table(row=StatisticsRow, rows=statistics_rows, sheet=statistics_sheet)
ANSWERS = Table(row=AnswersRow, rows=answers_rows, sheet=answers_sheet)
