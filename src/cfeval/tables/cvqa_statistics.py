"""A set in figures (C-VQA, Section 3.4), and what can be scored without looking at an image."""

from collections.abc import Sequence

from cfeval.io.choices import LETTERS
from cfeval.records.cvqa import SIDES, Side
from cfeval.records.cvqa_tables import StatisticsRow
from cfeval.studies.cvqa.statistics import Counts, count
from cfeval.tables.cvqa_accuracy import arrow
from cfeval.tables.cvqa_material import CvqaMaterial
from cfeval.tables.formats import Sheet, Table, cell
from cfeval.tables.items import Figures, rounded

EMPTY = "Empty: there is no set."
NOTE = (
    "Original → counterfactual. Majority: the share of the commonest right answer, which always saying it would score; "
    "negate: the share of counterfactual answers that are the opposite of the original one."
)


def rows(material: CvqaMaterial) -> list[StatisticsRow]:
    """A row for each set and type, then `all` its types."""
    return [_row(name, kind, of) for name, pairs in material.pairs.items() for kind, of in count(pairs).items() if of.n]


def sheet(of: Sequence[StatisticsRow]) -> Sheet:
    """The table for readers."""
    headings = ("Set", "Type", "Pairs", "Images", "Words", "Unchanged", "Majority", "Negate", "Yes", "A B C D")
    return Sheet("cvqa_statistics", "Sets of questions", headings, tuple(map(_cells, of)), (NOTE if of else EMPTY,))


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


TABLE = Table(row=StatisticsRow, rows=rows, sheet=sheet)
