"""From replies to items, pairs with what each of their sides scored; and the columns and cells that tables share.

An item's reply to a side is the one to the question as it stands; where its options were only shown in other orders,
the mean over these. A side without a score, because its reply failed or could not be read, counts neither way, and
bounds say what it could change. Images are the clusters.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Annotated, Any, TypeVar

from pydantic import Field

from cfeval.core.records import Binary, Status
from cfeval.cvqa.records import READERS, REAL, SIDES, SYNTHETIC, ExtractorName, Side
from cfeval.cvqa.tables.replies import Reply, place
from cfeval.report.tables import Column, Figures, Heading, TableRow, cell, figures_of, intervals
from cfeval.report.tables import with_interval as estimate_cell
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import Interval, ItemScore, estimate, rounded
from cfeval.stats.paired import Comparison, compare, holm, partly_paired

ALL = "all"
STANDING = ("", "ABCD")
"""Orders in which options stand as they do in the file."""
TEST_WORLD_NOTE = "† built-in solver of the test world; it stands for no real model."
NOT_ASKED = {"original": "not asked", "difference": "no drop"}
"""What stands for a figure of the original question where the set has none."""
OfType = TypeVar("OfType", bound=Any)
"""A row about a type of a set."""


def mark(row: Any) -> str:
    """The solver's name, marked where it is of the test world."""
    return f"{row.solver} †" if row.test_world else str(row.solver)


QuestionSet = Annotated[str, Heading("Set"), Field(description="Whose questions.")]
Solver = Annotated[str, Heading("Solver", mark), Field(description="Who was asked.")]
Kind = Annotated[str, Field(description="What the solver is: `chat`, `program`, `agent`, `random`.")]
Llm = Annotated[str, Field(description="The language model that writes the programs.")]
Type = Annotated[str, Heading("Type"), Field(description="The group of questions, or `all`.")]
SideColumn = Annotated[str, Heading("Side"), Field(description="`original` or `counterfactual`.")]
TestSolver = Annotated[Binary, Field(description="1: a built-in test solver, which stands for no real model.")]


class ReadRow(TableRow):
    """What every table of accuracies begins with: whose answers, to what, read by whom."""

    set: QuestionSet
    solver: Annotated[str, Heading("Solver", mark)]
    """Who was asked, or a baseline."""
    kind: str = ""
    """What the solver is: `chat`, `program`, `agent`, `random`; `baseline` for what needs no solver."""
    llm: Llm = ""
    type: Type
    reader: str = ""
    """Who read the answers: `robust`, or `reference` (the released rules); empty for baselines."""


def noted(text: str) -> Callable[[Sequence[Any]], tuple[str, ...]]:
    """The notes of a table: how its intervals were computed, how to read it, and what the mark means where it is."""
    return lambda rows: (intervals(rows) + text, TEST_WORLD_NOTE if any(row.test_world for row in rows) else "")


def side_cell(row: Any, name: str) -> str:
    """A figure with its interval; of an original question that the set does not have, that it was not asked."""
    return NOT_ASKED[name] if row.alone else estimate_cell(row, name)


def range_cell(row: Any, name: str) -> str:
    """`0.2500 to 0.5000`: a figure over all items, whatever the missing scores are; empty where nothing is missing."""
    ends = range_of(row, name)
    return "" if ends is None else " to ".join(dict.fromkeys(map(cell, ends)))


def range_of(row: Any, name: str) -> tuple[float, float] | None:
    """The least and the most that a figure over all items can be; None where both are the figure."""
    value, least, most = getattr(row, name), getattr(row, f"{name}_min"), getattr(row, f"{name}_max")
    return None if least is None or (value is not None and value == least == most) else (least, most)


def range_columns(rows: Sequence[Any], headings: Mapping[str, str]) -> list[Column]:
    """The columns with the ranges of figures, each where some row has one; `headings` by the figure's field."""
    return [
        (heading, partial(range_cell, name=name))
        for name, heading in headings.items()
        if any(range_cell(row, name) for row in rows)
    ]


def arrow(first: float | None, second: float | None) -> str:
    """`0.8380 → 0.7140`."""
    return "" if first is None or second is None else f"{cell(first)} → {cell(second)}"


@dataclass(frozen=True, slots=True)
class Item:
    """A pair; a side without a score is None. `unread` says of each side whether the reader read nothing in it.

    `alone`: the counterfactual question was asked alone, and the original is None for that.
    """

    id: str
    image: str
    original: float | None
    counterfactual: float | None
    unread: tuple[bool, bool]
    alone: bool = False


def kinds(replies: Iterable[Reply], whole: bool = True) -> list[str]:
    """The types that occur, in the order of the paper's tables; with `whole`, `all` behind several.

    C-VQA-Real's groups have no `all`, nor have types of which some have original questions and some do not.
    """
    replies = list(replies)

    def rank(kind: str) -> tuple[int, str]:
        return (REAL.index(kind), "") if kind in REAL else (len(REAL), kind)

    types = sorted({reply.type for reply in replies}, key=rank)
    paired_types = {reply.type for reply in replies if reply.side == "original"}
    several = sum(kind in SYNTHETIC for kind in types) > 1 or (
        len(types) > 1 and not set(types) & set(REAL) and len(paired_types) in (0, len(types))
    )
    return [*types, ALL] if whole and several else types


def in_short(rows: Sequence[OfType]) -> list[OfType]:
    """The rows that a table for readers shows: of a set of several templates those over all; CSV has every one."""
    whole = {row.set for row in rows if row.type == ALL}
    return [row for row in rows if row.type == ALL or row.set not in whole]


def of_kind(replies: Sequence[Reply], kind: str) -> list[Reply]:
    """The replies to questions of a type, or, for `all`, to those of all types but C-VQA-Real's groups."""
    return [reply for reply in replies if (reply.type not in REAL if kind == ALL else reply.type == kind)]


def items(replies: Iterable[Reply], reader: ExtractorName) -> list[Item]:
    """One item after the other; `replies` are in the order of ids."""
    return [_item(list(some), place(reader)) for _, some in groupby(replies, key=lambda reply: reply.id)]


def _item(replies: Sequence[Reply], reader: int) -> Item:
    sides = [standing(replies, side) for side in SIDES]
    original, counterfactual = (mean_score(reply.correct[reader] for reply in some) for some in sides)
    unread = [bool(some) and all(reply.read[reader] is None for reply in some) for some in sides]
    alone = all(reply.side != "original" for reply in replies)
    return Item(replies[0].id, replies[0].image, original, counterfactual, (unread[0], unread[1]), alone)


def standing(replies: Iterable[Reply], side: Side) -> list[Reply]:
    """The replies to an item's side that count, if any has a score."""
    scored = [reply for reply in replies if reply.side == side and reply.status == Status.OK]
    return [reply for reply in scored if reply.option_order in STANDING] or scored


def mean_score(scores: Iterable[int | None]) -> float | None:
    """The mean of the replies to a question that have a score; None where none has."""
    scored = [score for score in scores if score is not None]
    return sum(scored) / len(scored) if scored else None


def both_sides(items: Iterable[Item]) -> list[Item]:
    """The items with a score on both sides."""
    return [item for item in items if item.original is not None and item.counterfactual is not None]


def side_values(items: Iterable[Item], side: Side) -> list[ItemScore]:
    """What the items scored on a side, with their images."""
    return [ItemScore(item.id, item.image, value) for item in items if (value := getattr(item, side)) is not None]


def scored(replies: Sequence[Reply], scores: Sequence[float | None]) -> list[ItemScore]:
    """The replies that have a score."""
    pairs = zip(replies, scores, strict=True)
    return [ItemScore(reply.id, reply.image, float(score)) for reply, score in pairs if score is not None]


def changes(items: Iterable[Item]) -> list[ItemScore]:
    """Counterfactual − original of each item that has both."""
    return [
        ItemScore(item.id, item.image, item.counterfactual - item.original)
        for item in items
        if item.original is not None and item.counterfactual is not None
    ]


def missing(replies: Iterable[Reply], reader: ExtractorName | None = None) -> str:
    """Why questions have no score, with counts, the commonest first.

    Args:
        replies: those that were due.
        reader: whose scores; `unread` are the replies that came and have none by it. None: only what did not come.
    """
    reasons: Counter[str] = Counter()
    for reply in replies:
        if reply.status != Status.OK:
            reasons[reply.status.value] += 1
        elif reader is not None and reply.correct[place(reader)] is None:
            reasons["unread"] += 1
    return counted(reasons)


def counted(reasons: Counter[str]) -> str:
    """`refused 3, no_image 1`."""
    ordered = sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0]))
    return ", ".join(f"{reason} {count}" for reason, count in ordered)


def accuracies(items: Sequence[Item], interval: Interval) -> Figures:
    """Accuracy of each side on its own scores, and their difference, with intervals; the test on pairs; the bounds.

    Each figure lies within its bounds, which those of the pairs with both scores alone need not. Of counterfactual
    questions alone there is their accuracy; scored are then those with a score.
    """
    first, second = side_values(items, "original"), side_values(items, "counterfactual")
    if items and all(item.alone for item in items):
        figures: Figures = {"n": len(items), "n_scored": len(second), "images": len({item.image for item in items})}
        estimates = {"counterfactual": estimate(second, interval)} if second else {}
        return figures | bounds(items) | (figures_of(estimates) if estimates else {})
    both = both_sides(items)
    figures = {"n": len(items), "n_scored": len(both), "images": len({item.image for item in both})} | bounds(items)
    if not both:
        return figures
    comparison = paired(side_values(both, "counterfactual"), side_values(both, "original"), interval)
    whole = len(first) == len(second) == len(both)
    estimates = {
        "original": estimate(first, interval),
        "counterfactual": estimate(second, interval),
        "difference": comparison.difference if whole else unpaired(second, first, interval),
    }
    return figures | figures_of(estimates) | tested(comparison)


def unpaired(first: Sequence[ItemScore], second: Sequence[ItemScore], interval: Interval) -> Estimate:
    """The difference of two means where some items have one score alone, images drawn as a whole."""
    values, others = ([score.value for score in scores] for scores in (first, second))
    images = [score.cluster for score in first], [score.cluster for score in second]
    return partly_paired(values, others, interval.level, interval.resamples, interval.seed, images)


def paired(first: Sequence[ItemScore], second: Sequence[ItemScore], interval: Interval) -> Comparison:
    """Two scores of the same items, first − second, images drawn as a whole."""
    values, others = ([score.value for score in scores] for scores in (first, second))
    images = [score.cluster for score in first]
    return compare(values, others, interval.level, interval.resamples, interval.seed, images)


def tested(comparison: Comparison) -> Figures:
    """`test` and `p`: McNemar's exact test where all scores are 0 or 1, else the bootstrap's."""
    if comparison.mcnemar:
        return {"test": "McNemar", "p": comparison.mcnemar.exact}
    return {"test": "bootstrap", "p": comparison.p}


def adjusted(rows: Sequence[OfType]) -> list[OfType]:
    """With `p_holm`, adjusted over the rows of each reader, and `p` rounded."""
    by_reader = {reader: iter(holm([row.p for row in rows if row.reader == reader])) for reader in (*READERS, "")}
    return [
        row.model_copy(update={"p_holm": rounded(next(by_reader[row.reader])), "p": rounded(row.p)}) for row in rows
    ]


def bounds(items: Sequence[Item]) -> Figures:
    """`original_min` to `difference_max`: what figures over all items could be, whatever missing scores were."""
    if not items:
        return {}

    def mean(side: Side, unknown: float) -> float:
        return sum(unknown if (value := getattr(item, side)) is None else value for item in items) / len(items)

    least, most = mean("counterfactual", 0.0), mean("counterfactual", 1.0)
    figures: Figures = {"counterfactual_min": rounded(least), "counterfactual_max": rounded(most)}
    if all(item.alone for item in items):
        return figures
    low, high = mean("original", 0.0), mean("original", 1.0)
    return figures | {
        "original_min": rounded(low),
        "original_max": rounded(high),
        "difference_min": rounded(least - high),
        "difference_max": rounded(most - low),
    }


def accuracy_bounds(name: str, scores: Sequence[float | None]) -> Figures:
    """`name_min` and `name_max`: what a mean of scores could be, whatever the missing ones are; {} of no scores."""
    if not scores:
        return {}
    right, unknown = sum(score or 0 for score in scores), scores.count(None)
    return {f"{name}_min": rounded(right / len(scores)), f"{name}_max": rounded((right + unknown) / len(scores))}


def difference_bounds(name: str, first: Figures, second: Figures, of: tuple[str, str]) -> Figures:
    """`name_min` and `name_max`: what first − second could be, by the bounds that each has for its field in `of`."""
    figures: Figures = {}
    for end, other in (("min", "max"), ("max", "min")):
        minuend, subtrahend = first.get(f"{of[0]}_{end}"), second.get(f"{of[1]}_{other}")
        if isinstance(minuend, float) and isinstance(subtrahend, float):
            figures[f"{name}_{end}"] = rounded(minuend - subtrahend)
    return figures
