"""Does a solver go by where an option stands? (C-VQA, Section 4.2: some models name one letter for most questions.)

Asked in several orders, an answer may follow the option's value, wherever it stands, or its position.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated, Any

from cfeval.core.records import Binary, Status
from cfeval.cvqa.choices import LETTERS
from cfeval.cvqa.records import HEADLINE, READERS, SIDES, SYNTHETIC, CvqaCondition, ExtractorName, Side
from cfeval.cvqa.tables.accuracy import named
from cfeval.cvqa.tables.cells import range_columns, world
from cfeval.cvqa.tables.items import in_short, kinds, mean_score, missing, of_kind, standing
from cfeval.cvqa.tables.replies import CvqaTableData, ReadRow, Reply, place
from cfeval.report.columns import Bounded, Heading, laid_out
from cfeval.report.tables import Figure, Figures, RenderedTable, Table, figures_of, intervals, p_cell
from cfeval.stats.intervals import ItemScore, estimate, mean, rounded
from cfeval.stats.paired import holm


def letters_cell(row: Any, what: str) -> str:
    """Shares of the letters: `.25 .25 .24 .26`."""
    shares = [getattr(row, f"{what}_{letter.lower()}") for letter in LETTERS]
    return "" if None in shares else " ".join(f"{share:.2f}".removeprefix("0") for share in shares)


class PositionsRow(ReadRow):
    """Does a solver go by where an option stands? Questions with options, a row a side."""

    side: Annotated[str, Heading("Side")]
    """`original` or `counterfactual`."""
    n: int
    """Questions with options."""
    n_scored: int
    """Those with a reply to the question in the order that counts: as it stands, where it was asked so."""
    n_read: Annotated[int, Heading("Read", lambda row: f"{row.n_read} of {row.n}", after="n_orders")] = 0
    """Replies of these in which a letter was read; the shares rest on them."""
    missing: Annotated[str, Heading("Missing", after="n_read")] = ""
    """Why questions have no score, with counts of questions."""
    said_a: Annotated[Figure, Heading("Said A B C D", lambda row: letters_cell(row, "said"))] = None
    """Share of replies that name the option shown as A."""
    said_b: Figure = None
    """As B."""
    said_c: Figure = None
    """As C."""
    said_d: Figure = None
    """As D."""
    gold_a: Annotated[Figure, Heading("Right A B C D", lambda row: letters_cell(row, "gold"))] = None
    """Share of the same questions whose right option is shown as A."""
    gold_b: Figure = None
    """As B."""
    gold_c: Figure = None
    """As C."""
    gold_d: Figure = None
    """As D."""
    chi_square: Figure = None
    """Of what was said, against a quarter each; 3 degrees of freedom."""
    p: Figure = None
    """Of that."""
    p_holm: Annotated[Figure, Heading("p, Holm", lambda row: p_cell(row.p_holm))] = None
    """Adjusted by Holm over the rows of one reader."""
    n_permuted: int = 0
    """Questions that were asked in several orders, with an option read in each."""
    n_told: Annotated[
        int, Heading("Told apart", lambda row: f"{row.n_told} of {row.n_permuted}", after="follows_value")
    ] = 0
    """Those of them in which position and value point to different options, whichever was chosen."""
    follows_position: Annotated[Figure, Heading("Follows position")] = None
    """Share of these whose answer is the same position in every order, though the option there is another."""
    follows_value: Annotated[Figure, Heading("Follows value")] = None
    """Share of these whose answer is the same option in every order, wherever it stands."""
    accuracy: Annotated[Bounded, Heading("Accuracy")] = None
    """Over all orders: the mean of a question's replies, then of questions."""
    n_orders: Annotated[Figure, Heading("Orders", lambda row: "" if row.n_orders is None else f"{row.n_orders:g}")] = (
        None
    )
    """Mean number of orders a question was asked in."""
    ci: str = ""
    """How the interval was computed, and its nominal coverage."""
    test_world: Binary = 0
    """1: a built-in test solver, which stands for no real model."""


EMPTY = "Empty: nobody answered questions with options."
NOTE = (
    "Said, right: shares of A, B, C and D as shown, in one reply a question. p: chi-square of what was said against a "
    "quarter each, adjusted by Holm over the table. Follows position: of the questions asked in several orders, where "
    "position and value point to different options, the share answered with the same position every time; follows "
    "value: with the same option every time. Accuracy: over all orders."
)


def rows(material: CvqaTableData) -> list[PositionsRow]:
    """A row for each condition with options, type, side and reader."""
    found = [
        PositionsRow.model_validate(_figures(material, condition, kind, side, reader))
        for condition, replies in material.scores.items()
        if replies and replies[0].type in SYNTHETIC
        for kind in kinds(replies)
        for side in SIDES
        for reader in READERS
    ]
    holms = {reader: iter(holm([row.p for row in found if row.reader == reader])) for reader in READERS}
    return [
        row.model_copy(update={"p": rounded(row.p), "p_holm": rounded(next(holms[reader]))})
        for row in found
        for reader in READERS
        if row.reader == reader
    ]


def render(of: Sequence[PositionsRow]) -> RenderedTable:
    """The table for readers, by the robust reader."""
    shown = [row for row in in_short(of) if row.reader == HEADLINE]
    notes = (intervals(of) + NOTE, *world(of)) if of else (EMPTY,)
    ranges = {"accuracy": range_columns(shown, {"accuracy": "Accuracy range"})}
    return RenderedTable("cvqa_positions", "Positions of options", *laid_out(PositionsRow, shown, ranges), notes)


def _figures(
    material: CvqaTableData, condition: CvqaCondition, kind: str, side: Side, reader: ExtractorName
) -> Figures:
    replies = [reply for reply in of_kind(material.scores[condition], kind) if reply.side == side]
    questions = [list(some) for _, some in groupby(replies, key=lambda reply: reply.id)]
    figures = named(material, condition) | {"type": kind, "side": side, "reader": reader, "n": len(questions)}
    one_each = [some[0] for question in questions if (some := standing(question, side))]
    figures |= {"n_scored": len(one_each), "missing": missing(replies, reader)} | _letters(one_each, place(reader))
    return figures | _orders(questions, place(reader)) | _accuracy(questions, place(reader), material)


def _letters(of: Sequence[Reply], reader: int) -> Figures:
    """What was said and what was right, as shown, among the replies that were read."""
    from scipy.stats import chisquare  # slow to load, and most commands need none of it

    read = [reply for reply in of if reply.shown[reader] in tuple(LETTERS)]
    if not read:
        return {"n_read": 0}
    said, right = Counter(reply.shown[reader] for reply in read), Counter(map(_right, read))
    counts = [said[letter] for letter in LETTERS]
    figures: Figures = {"n_read": len(read), "chi_square": rounded(float(chisquare(counts).statistic))}
    figures["p"] = float(chisquare(counts).pvalue)
    for letter in LETTERS:
        figures |= {f"said_{letter.lower()}": rounded(said[letter] / len(read))}
        figures |= {f"gold_{letter.lower()}": rounded(right[letter] / len(read))}
    return figures


def _right(reply: Reply) -> str:
    """The letter under which the right option was shown."""
    return LETTERS[reply.option_order.index(reply.gold)] if reply.option_order else reply.gold


def _orders(questions: Sequence[Sequence[Reply]], reader: int) -> Figures:
    """Which the answers follow where a question was asked in several orders and read in each."""
    permuted = [question for question in questions if len(question) > 1 and _all_read(question, reader)]
    followed = [one for question in permuted if (one := _followed(question, reader)) is not None]
    figures: Figures = {"n_permuted": len(permuted), "n_told": len(followed)}
    if followed:
        figures |= {f"follows_{what}": mean(float(one == what) for one in followed) for what in ("position", "value")}
    return figures


def _all_read(question: Sequence[Reply], reader: int) -> bool:
    return all(reply.status == Status.OK and reply.shown[reader] in tuple(LETTERS) for reply in question)


def _followed(question: Sequence[Reply], reader: int) -> str | None:
    """`position`, `value` or `` for neither; None where the two cannot be told apart."""
    shown, read = ({getattr(reply, field)[reader] for reply in question} for field in ("shown", "read"))
    if len(shown) == len(read) == 1:
        return None
    return "position" if len(shown) == 1 else "value" if len(read) == 1 else ""


def _accuracy(questions: Sequence[Sequence[Reply]], reader: int, material: CvqaTableData) -> Figures:
    """Over all orders of a question, then over questions."""
    if not questions:
        return {}
    values = list(_means(questions, reader))
    right, unknown = sum(value.value for value in values), len(questions) - len(values)
    figures: Figures = {"accuracy_min": rounded(right / len(questions))}
    figures |= {"accuracy_max": rounded((right + unknown) / len(questions))}
    if not values:
        return figures
    asked = mean(len(question) for question in questions)
    return figures | figures_of({"accuracy": estimate(values, material.interval)}) | {"n_orders": asked}


def _means(questions: Sequence[Sequence[Reply]], reader: int) -> Iterator[ItemScore]:
    for question in questions:
        score = mean_score(reply.correct[reader] for reply in question)
        if score is not None:
            yield ItemScore(question[0].id, question[0].image, score)


TABLE = Table(row=PositionsRow, rows=rows, render=render)
