"""How replies were read: by the released rules and the better reader; and by the places of options.

The latter asks whether a solver goes by where an option stands (C-VQA, Section 4.2: some models name one letter for
most questions). Asked in several orders, an answer may follow the option's value, wherever it stands, or its position.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Any

from cfeval.core.records import Status
from cfeval.cvqa.records import (
    AS_PUBLISHED,
    HEADLINE,
    LETTERS,
    READERS,
    SIDES,
    SYNTHETIC,
    CvqaCondition,
    ExtractorName,
    Side,
)
from cfeval.cvqa.tables.items import (
    Kind,
    Llm,
    QuestionSet,
    ReadRow,
    SideColumn,
    Solver,
    TestSolver,
    Type,
    accuracy_bounds,
    adjusted,
    in_short,
    kinds,
    mean_score,
    missing,
    noted,
    of_kind,
    paired,
    range_columns,
    scored,
    standing,
)
from cfeval.cvqa.tables.replies import CvqaTableData, Reply, place
from cfeval.report.tables import (
    Bounded,
    Estimated,
    Figure,
    Figures,
    Heading,
    Methods,
    TableRow,
    estimate_fields,
    figures_of,
    interval_methods,
    p_cell,
    scored_cell,
    table,
)
from cfeval.stats.intervals import ItemScore, estimate, mean, rounded

_ROBUST, _REFERENCE = place(HEADLINE), place(AS_PUBLISHED)


class ReadersRow(TableRow):
    """Both readers on the same replies, a row a side."""

    set: QuestionSet
    solver: Solver
    kind: Kind = ""
    llm: Llm = ""
    type: Type
    side: SideColumn
    n: int
    """Replies that were due."""
    n_scored: Annotated[int, Heading("Scored", scored_cell, after="n_robust_only")]
    """Those that came."""
    missing: Annotated[str, Heading("Missing", after="n_scored")] = ""
    """Why others did not, with counts."""
    robust: Annotated[Bounded, Heading("Robust")] = None
    """Accuracy as the robust reader reads the replies, over those that it can read."""
    reference: Annotated[Estimated, Heading("As published")] = None
    """Accuracy as the released rules read them, what they cannot read as wrong."""
    difference: Annotated[Estimated, Heading("Difference")] = None
    """robust − reference, over the replies that the robust reader can read."""
    ci: Methods = ""
    n_unread_reference: Annotated[
        int, Heading("Unread", lambda row: f"{row.n_unread_robust} / {row.n_unread_reference}")
    ] = 0
    """Replies that the reference reader could not read."""
    n_unread_robust: int = 0
    """Replies that the robust reader could not read."""
    n_disagree: Annotated[int, Heading("Disagree")] = 0
    """Replies that both read, and read differently."""
    n_reference_only: Annotated[int, Heading("Only reference read")] = 0
    """Replies that the reference reader alone read."""
    n_robust_only: Annotated[int, Heading("Only robust read")] = 0
    """Replies that the robust reader alone read."""
    n_reference_right: int = 0
    """Replies that are right as the reference reader reads them and not as the robust one does."""
    n_robust_right: int = 0
    """Replies that are right as the robust reader reads them and not as the reference one does."""
    test_world: TestSolver = 0


def readers_rows(material: CvqaTableData) -> list[ReadersRow]:
    """A row for each condition, type and side."""
    return [
        ReadersRow.model_validate(_readers_figures(material, condition, kind, side))
        for condition, replies in material.scores.items()
        for kind in kinds(replies)
        for side in SIDES
        if any(reply.side == side for reply in of_kind(replies, kind))
    ]


def _readers_figures(material: CvqaTableData, condition: CvqaCondition, kind: str, side: Side) -> Figures:
    due = [reply for reply in of_kind(material.scores[condition], kind) if reply.side == side]
    came = [reply for reply in due if reply.status == Status.OK]
    read = [reply.read for reply in came]
    right = [tuple(score == 1 for score in reply.correct) for reply in came]
    figures = material.named(condition) | {
        **{"type": kind, "side": side, "n": len(due), "n_scored": len(came), "missing": missing(due)},
        "n_unread_robust": sum(robust is None for robust, _ in read),
        "n_unread_reference": sum(published is None for _, published in read),
        "n_disagree": sum(None not in pair and pair[0] != pair[1] for pair in read),
        "n_robust_only": sum(robust is not None and published is None for robust, published in read),
        "n_reference_only": sum(robust is None and published is not None for robust, published in read),
        "n_robust_right": right.count((True, False)),
        "n_reference_right": right.count((False, True)),
    }
    if not came:
        return figures
    absent: list[float | None] = [None] * (len(due) - len(came))
    figures |= accuracy_bounds("robust", [*(reply.correct[_ROBUST] for reply in came), *absent])
    scores = {"robust": _of_reader(came, _ROBUST), "reference": _of_reader(came, _REFERENCE)}
    figures |= figures_of({name: estimate(some, material.interval) for name, some in scores.items() if some})
    both = [reply for reply in came if None not in reply.correct]
    if not both:
        return figures
    difference = paired(_of_reader(both, _ROBUST), _of_reader(both, _REFERENCE), material.interval).difference
    figures |= estimate_fields("difference", difference)
    return figures | {"ci": interval_methods(figures.get("ci", ""), difference.method)}


def _of_reader(replies: Sequence[Reply], reader: int) -> list[ItemScore]:
    return scored(replies, [reply.correct[reader] for reply in replies])


READERS_TABLE = table(
    "cvqa_readers",
    "Two readers of the same replies",
    ReadersRow,
    readers_rows,
    noted(
        "Every reply, in whatever order options were shown. Robust: a reader that leaves unread what is not clear; "
        "unread replies have no score, and the range says what they and the missing ones could change. As published: "
        "the released rules, which count what they cannot read as wrong. Unread: by the robust reader / by the "
        "released rules. Disagree: both read the reply, differently."
    ),
    "Empty: nobody answered anything.",
    added=lambda rows: {"robust": range_columns(rows, {"robust": "Robust range"})},
    shown=in_short,
)


def letters_cell(row: Any, what: str) -> str:
    """Shares of the letters: `.25 .25 .24 .26`."""
    shares = [getattr(row, f"{what}_{letter.lower()}") for letter in LETTERS]
    return "" if None in shares else " ".join(f"{share:.2f}".removeprefix("0") for share in shares)


class PositionsRow(ReadRow):
    """Does a solver go by where an option stands? Questions with options, a row a side."""

    side: SideColumn
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
    ci: Methods = ""
    test_world: TestSolver = 0


def positions_rows(material: CvqaTableData) -> list[PositionsRow]:
    """A row for each condition with options, type, side and reader."""
    return adjusted(
        [
            PositionsRow.model_validate(_positions_figures(material, condition, kind, side, reader))
            for condition, replies in material.scores.items()
            if replies and replies[0].type in SYNTHETIC
            for kind in kinds(replies)
            for side in SIDES
            for reader in READERS
        ]
    )


def _positions_figures(
    material: CvqaTableData, condition: CvqaCondition, kind: str, side: Side, reader: ExtractorName
) -> Figures:
    replies = [reply for reply in of_kind(material.scores[condition], kind) if reply.side == side]
    questions = [list(some) for _, some in groupby(replies, key=lambda reply: reply.id)]
    one_each = [some[0] for question in questions if (some := standing(question, side))]
    figures = material.named(condition) | {"type": kind, "side": side, "reader": reader, "n": len(questions)}
    figures |= {"n_scored": len(one_each), "missing": missing(replies, reader)}
    figures |= _letters(one_each, place(reader)) | _orders(questions, place(reader))
    scores = [mean_score(reply.correct[place(reader)] for reply in question) for question in questions]
    figures |= accuracy_bounds("accuracy", scores)
    if not (values := scored([question[0] for question in questions], scores)):
        return figures
    orders = mean(len(question) for question in questions)
    return figures | figures_of({"accuracy": estimate(values, material.interval)}) | {"n_orders": orders}


def _letters(replies: Sequence[Reply], reader: int) -> Figures:
    """What was said and what was right, as shown, among the replies that were read."""
    from scipy.stats import chisquare  # slow to load, and most commands need none of it

    read = [reply for reply in replies if reply.shown[reader] in tuple(LETTERS)]
    if not read:
        return {"n_read": 0}
    said = Counter(reply.shown[reader] for reply in read)
    right = Counter(LETTERS[r.option_order.index(r.gold)] if r.option_order else r.gold for r in read)
    test = chisquare([said[letter] for letter in LETTERS])
    figures: Figures = {"n_read": len(read), "chi_square": rounded(float(test.statistic)), "p": float(test.pvalue)}
    for letter in LETTERS:
        figures |= {f"said_{letter.lower()}": rounded(said[letter] / len(read))}
        figures |= {f"gold_{letter.lower()}": rounded(right[letter] / len(read))}
    return figures


def _orders(questions: Sequence[Sequence[Reply]], reader: int) -> Figures:
    """Which the answers follow where a question was asked in several orders and read in each."""

    def is_read(reply: Reply) -> bool:
        return reply.status == Status.OK and reply.shown[reader] in tuple(LETTERS)

    permuted = [question for question in questions if len(question) > 1 and all(map(is_read, question))]
    followed = [what for question in permuted if (what := _followed(question, reader)) is not None]
    figures: Figures = {"n_permuted": len(permuted), "n_told": len(followed)}
    if followed:
        figures |= {f"follows_{what}": mean(float(one == what) for one in followed) for what in ("position", "value")}
    return figures


def _followed(question: Sequence[Reply], reader: int) -> str | None:
    """`position`, `value` or `` for neither; None where the two cannot be told apart."""
    shown, read = ({getattr(reply, field)[reader] for reply in question} for field in ("shown", "read"))
    if len(shown) == len(read) == 1:
        return None
    return "position" if len(shown) == 1 else "value" if len(read) == 1 else ""


POSITIONS = table(
    "cvqa_positions",
    "Positions of options",
    PositionsRow,
    positions_rows,
    noted(
        "Said, right: shares of A, B, C and D as shown, in one reply a question. p: chi-square of what was said "
        "against a quarter each, adjusted by Holm over the table. Follows position: of the questions asked in several "
        "orders, where position and value point to different options, the share answered with the same position every "
        "time; follows value: with the same option every time. Accuracy: over all orders."
    ),
    "Empty: nobody answered questions with options.",
    added=lambda rows: {"accuracy": range_columns(rows, {"accuracy": "Accuracy range"})},
    shown=lambda rows: [row for row in in_short(rows) if row.reader == HEADLINE],
)
