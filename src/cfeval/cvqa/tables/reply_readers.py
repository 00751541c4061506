"""Language models on the replies that the rules left unread, and how far both agree on those that both read."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated

from cfeval.core.records import Binary, Status
from cfeval.cvqa.records import HEADLINE, SIDES, CvqaCondition, Reading, Side
from cfeval.cvqa.tables.accuracy import named
from cfeval.cvqa.tables.cells import mark, range_columns, world
from cfeval.cvqa.tables.items import counted
from cfeval.cvqa.tables.replies import CvqaTableData, Reply, place
from cfeval.report.columns import Bounded, Estimated, Heading, TableRow, laid_out
from cfeval.report.tables import Figures, RenderedTable, Table, figures_of, intervals
from cfeval.stats.intervals import ItemScore, estimate, rounded


class ReplyReadersRow(TableRow):
    """A language model that reads replies, a row a condition and side."""

    set: Annotated[str, Heading("Set")]
    """Whose questions."""
    solver: Annotated[str, Heading("Solver", mark)]
    """Who was asked."""
    kind: str = ""
    """What the solver is: `chat`, `program`, `agent`, `random`."""
    llm: str = ""
    """The language model that writes the programs."""
    reader: Annotated[str, Heading("Reader")]
    """The language model that reads the replies; a name from `reply_readers`."""
    side: Annotated[str, Heading("Side")]
    """`original` or `counterfactual`."""
    n: int
    """Replies that came."""
    n_unread: Annotated[int, Heading("Unread by rules")] = 0
    """Those that the robust rules left unread."""
    n_read: Annotated[int, Heading("of them read")] = 0
    """Those of them in which the language model read an answer."""
    n_none: Annotated[int, Heading("no answer")] = 0
    """Those of them of which it says that they give no answer."""
    n_right: Annotated[int, Heading("right")] = 0
    """Those of them that are right as it reads them."""
    missing: Annotated[str, Heading("Missing", after="agreement")] = ""
    """Why other replies were not read by it, with counts."""
    robust: Annotated[Bounded, Heading("Robust")] = None
    """Accuracy as the robust rules read the replies, over those that they read. Bounds: over all that came."""
    filled: Annotated[Bounded, Heading("Robust, then model")] = None
    """The same where the language model's reading stands for what the rules left unread, and for nothing else."""
    n_both: Annotated[int, Heading("Read by both", after="filled")] = 0
    """Replies of the drawn share that rules and language model read."""
    agreement: Annotated[Estimated, Heading("Agreement")] = None
    """The share of these that both read alike."""
    n_lost: int = 0
    """Replies of the drawn share that the rules read and of which the language model says that they give no answer."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    test_world: Binary = 0
    """1: a built-in test solver, which stands for no real model."""


EMPTY = "Empty: no language model reads replies (`cvqa.reply_readers`)."
NOTE = (
    "The language model sees question and reply, neither the image nor the right answer. It reads every reply that the "
    "robust rules leave unread and a share of the others, on which agreement rests. It changes no reading of the rules "
    "and no other table. Open answers have a table of their own."
)


def rows(material: CvqaTableData) -> list[ReplyReadersRow]:
    """A row for each reader, condition and side."""
    return [
        ReplyReadersRow.model_validate(_figures(material, reader, condition, side, list(of)))
        for (reader, condition), found in material.readings.items()
        for side, of in _by_side(found)
    ]


def render(of: Sequence[ReplyReadersRow]) -> RenderedTable:
    """The table for readers."""
    notes = (intervals(of) + NOTE, *world(of)) if of else (EMPTY,)
    ranges = {"filled": range_columns(of, {"robust": "Robust range", "filled": "Robust, then model: range"})}
    title = "Language models that read replies"
    return RenderedTable("cvqa_reply_readers", title, *laid_out(ReplyReadersRow, of, ranges), notes)


def _by_side(found: Iterable[Reading]) -> list[tuple[Side, list[Reading]]]:
    kept = list(found)
    return [(side, [one for one in kept if one.side == side]) for side in SIDES]


def _figures(
    material: CvqaTableData, reader: str, condition: CvqaCondition, side: Side, found: Sequence[Reading]
) -> Figures:
    came = [
        one for one in material.scores[condition] if one.side == side and one.status == Status.OK and one.form != "text"
    ]
    read = {(one.id, one.option_order) for one in came}
    found = [one for one in found if not one.known and (one.id, one.option_order) in read]
    by_reply = {(one.id, one.option_order): one for one in found}
    figures: Figures = named(material, condition) | {"reader": reader, "side": side, "n": len(came)}
    figures |= _unread([by_reply.get((one.id, one.option_order)) for one in came if _rule(one) is None])
    figures |= {"missing": counted(Counter(one.status.value for one in found if one.status != Status.OK))}
    both = [one for one in found if one.rule is not None and one.status == Status.OK]
    alike = _alike(came, both)
    filled = [_filled(one, by_reply.get((one.id, one.option_order))) for one in came]
    rules = [_rule(one) for one in came]
    figures |= {"n_right": sum(one or 0 for one in filled) - sum(one or 0 for one in rules)}
    figures |= {"n_both": len(alike), "n_lost": len(both) - len(alike)}
    scored = {
        "robust": _scored(came, rules),
        "filled": _scored(came, filled),
        "agreement": alike,
    }
    figures |= _ranges("robust", rules) | _ranges("filled", filled)
    return figures | figures_of({name: estimate(of, material.interval) for name, of in scored.items() if of})


def _unread(readings: Sequence[Reading | None]) -> Figures:
    """What the language model made of the replies that the rules left unread."""
    heard = [one for one in readings if one is not None and one.status == Status.OK]
    read = sum(one.read is not None for one in heard)
    return {"n_unread": len(readings), "n_read": read, "n_none": len(heard) - read}


def _alike(came: Sequence[Reply], both: Sequence[Reading]) -> list[ItemScore]:
    """1 or 0 for each reply that both read: whether they read the same."""
    images = {(one.id, one.option_order): one.image for one in came}
    return [
        ItemScore(one.id, images[one.id, one.option_order], float(one.read == one.rule))
        for one in both
        if one.read is not None
    ]


def _rule(reply: Reply) -> int | None:
    """Whether a reply is right as the robust rules read it; None where they left it unread."""
    return reply.correct[place(HEADLINE)]


def _filled(reply: Reply, reading: Reading | None) -> int | None:
    """Whether a reply is right, where the language model reads what the rules left unread; None where neither did."""
    if (by_rule := _rule(reply)) is not None:
        return by_rule
    read = reading.read if reading is not None and reading.status == Status.OK else None
    return None if read is None else int(read == reply.gold)


def _scored(of: Sequence[Reply], scores: Sequence[int | None]) -> list[ItemScore]:
    """The replies that have a score."""
    pairs = zip(of, scores, strict=True)
    return [ItemScore(reply.id, reply.image, float(score)) for reply, score in pairs if score is not None]


def _ranges(name: str, scores: Sequence[int | None]) -> Figures:
    """What the accuracy could be over all replies that came."""
    if not scores:
        return {}
    right, unread = sum(score or 0 for score in scores), scores.count(None)
    ends = {"min": right, "max": right + unread}
    return {f"{name}_{end}": rounded(count / len(scores)) for end, count in ends.items()}


TABLE = Table(row=ReplyReadersRow, rows=rows, render=render)
