"""Sets of questions in figures: sizes, lengths, what can be scored without looking at an image (C-VQA, Section 3.4).

And how often each answer is right (C-VQA, Figure 3).
"""

from collections.abc import Sequence
from typing import Annotated, Any

from cfeval.cvqa.choices import LETTERS
from cfeval.cvqa.records import SIDES, Side
from cfeval.cvqa.stages.statistics import Counts, count
from cfeval.cvqa.tables.cells import arrow
from cfeval.cvqa.tables.replies import CvqaTableData
from cfeval.report.columns import Heading, TableRow, laid_out
from cfeval.report.tables import Figure, Figures, RenderedTable, Table, cell
from cfeval.stats.intervals import rounded

EMPTY = "Empty: there is no set."
NOTE = (
    "Original → counterfactual. Majority: the share of the commonest right answer, which always saying it would score; "
    "negate: the share of counterfactual answers that are the opposite of the original one."
)
_SHOWN = 6
"""Answers a group that readers see; the CSV has them all."""


def words_cell(row: Any) -> str:
    """Mean numbers of words: `9.41 → 15.02`."""
    if row.words_original is None:
        return f"not asked → {row.words_counterfactual:.2f}"
    return f"{row.words_original:.2f} → {row.words_counterfactual:.2f}"


def _majority_cell(row: Any) -> str:
    if row.majority_original is None:
        return f"not asked → {cell(row.majority_counterfactual)}"
    return arrow(row.majority_original, row.majority_counterfactual)


def letters_cell(row: Any) -> str:
    """Shares of the letters, one after the other."""
    letters = (arrow(getattr(row, f"{x}_original"), getattr(row, f"{x}_counterfactual")) for x in "abcd")
    return "; ".join(text for text in letters if text)


class StatisticsRow(TableRow):
    """A group of a set in figures."""

    set: Annotated[str, Heading("Set")]
    """Whose questions."""
    type: Annotated[str, Heading("Type")]
    """The group of questions, or `all`."""
    n: Annotated[int, Heading("Pairs")]
    """Pairs."""
    images: Annotated[int, Heading("Images")]
    """Different images."""
    words_original: Annotated[Figure, Heading("Words", words_cell)] = None
    """Mean number of words."""
    words_counterfactual: Figure = None
    """The same of counterfactual questions."""
    if_inside: int = 0
    """Counterfactual questions with ` if ` in them, in small or capital letters."""
    if_first: int = 0
    """Those that begin with `If`."""
    unchanged: Annotated[int, Heading("Unchanged")] = 0
    """Pairs whose answer the presupposition does not change."""
    majority_original: Annotated[Figure, Heading("Majority", _majority_cell)] = None
    """Share of the commonest right answer: what always saying it would score."""
    majority_original_answer: str = ""
    """Which one it is."""
    majority_counterfactual: Figure = None
    """The same of counterfactual questions."""
    majority_counterfactual_answer: str = ""
    """Which one it is."""
    negate: Annotated[Figure, Heading("Negate")] = None
    """Share of counterfactual answers that are the opposite of the original's; yes and no only."""
    yes_original: Annotated[Figure, Heading("Yes", lambda row: arrow(row.yes_original, row.yes_counterfactual))] = None
    """Share of `yes`; of questions that have yes or no."""
    yes_counterfactual: Figure = None
    """The same of counterfactual questions."""
    a_original: Annotated[Figure, Heading("A B C D", letters_cell)] = None
    """Share of the letter A; of questions with options."""
    b_original: Figure = None
    """Of B."""
    c_original: Figure = None
    """Of C."""
    d_original: Figure = None
    """Of D."""
    a_counterfactual: Figure = None
    """Share of the letter A among the counterfactual answers."""
    b_counterfactual: Figure = None
    """Of B."""
    c_counterfactual: Figure = None
    """Of C."""
    d_counterfactual: Figure = None
    """Of D."""


def statistics_rows(material: CvqaTableData) -> list[StatisticsRow]:
    """A row for each set and type, then `all` its types."""
    return [_row(name, kind, of) for name, pairs in material.pairs.items() for kind, of in count(pairs).items() if of.n]


def render_statistics(of: Sequence[StatisticsRow]) -> RenderedTable:
    """The table for readers."""
    notes = (NOTE if of else EMPTY,)
    return RenderedTable("cvqa_statistics", "Sets of questions", *laid_out(StatisticsRow, of), notes)


def _row(name: str, kind: str, of: Counts) -> StatisticsRow:
    figures: Figures = {"set": name, "type": kind, "n": of.n, "images": len(of.images)}
    figures |= {"if_inside": of.if_inside, "if_first": of.if_first, "unchanged": of.unchanged}
    for side in SIDES:
        if not of.asked(side):
            continue
        answer, share = of.majority(side)
        figures |= {f"words_{side}": rounded(of.mean_words(side)), f"majority_{side}": rounded(share)}
        figures |= {f"majority_{side}_answer": answer} | _shares(of, side)
    if of.booleans == of.n == of.asked("original"):
        figures["negate"] = rounded(of.negated / of.n)
    return StatisticsRow.model_validate(figures)


def _shares(of: Counts, side: Side) -> Figures:
    """Shares of yes, or of letters, where all answers are of that form."""
    if of.booleans == of.n:
        return {f"yes_{side}": rounded(of.share(side, "yes"))}
    if of.choices == of.n:
        return {f"{letter.lower()}_{side}": rounded(of.share(side, letter)) for letter in LETTERS}
    return {}


class AnswersRow(TableRow):
    """How often an answer is right in a group. Readers see the commonest answers of each group in one row."""

    set: str
    """Whose questions."""
    type: str
    """The group of questions."""
    side: str
    """`original` or `counterfactual`."""
    answer: str
    """A right answer."""
    count: int
    """How often it is right."""
    share: float
    """Of the group's questions on that side."""


def answers_rows(material: CvqaTableData) -> list[AnswersRow]:
    """A row for each set, type, side and answer: numbers ascending, else the alphabet."""
    return [
        AnswersRow(set=name, type=kind, side=side, answer=answer, count=n, share=rounded(n / of.asked(side)) or 0.0)
        for name, pairs in material.pairs.items()
        for kind, of in count(pairs).items()
        if kind != "all"
        for side in SIDES
        for answer, n in sorted(of.answers[side].items(), key=lambda found: _rank(found[0]))
    ]


def render_answers(of: Sequence[AnswersRow]) -> RenderedTable:
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


STATISTICS = Table(row=StatisticsRow, rows=statistics_rows, render=render_statistics)
ANSWERS = Table(row=AnswersRow, rows=answers_rows, render=render_answers)
