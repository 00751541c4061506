"""From replies to items: a pair with what each of its sides scored. Images are the clusters.

An item's reply to a side is the one to the question as it stands; where its options were only shown in other orders,
the mean over these. A side without a score, because its reply failed or could not be read, counts neither way, and
bounds say what it could change.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol, TypeVar

from cfeval.core.records import Status
from cfeval.cvqa.records import REAL, SYNTHETIC, ExtractorName, Side
from cfeval.cvqa.tables.replies import Reply, place
from cfeval.report.tables import Figures, figures_of
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import Interval, ItemScore, estimate, rounded
from cfeval.stats.paired import Comparison, compare, partly_paired

ALL = "all"
STANDING = ("", "ABCD")
"""Orders in which options stand as they do in the file."""


class OfType(Protocol):
    """A row about a type of a set."""

    @property
    def set(self) -> str:
        """The set's name."""

    @property
    def type(self) -> str:
        """A type, or `all`."""


Row = TypeVar("Row", bound=OfType)


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
    of = list(replies)
    found = sorted({reply.type for reply in of}, key=_rank)
    paired = {reply.type for reply in of if reply.side == "original"}
    several = sum(kind in SYNTHETIC for kind in found) > 1 or (
        len(found) > 1 and not set(found) & set(REAL) and len(paired) in (0, len(found))
    )
    return [*found, ALL] if whole and several else found


def in_short(rows: Sequence[Row]) -> list[Row]:
    """The rows that a table for readers shows: of a set of several templates those over all; CSV has every one."""
    whole = {row.set for row in rows if row.type == ALL}
    return [row for row in rows if row.type == ALL or row.set not in whole]


def of_kind(replies: Sequence[Reply], kind: str) -> list[Reply]:
    """The replies to questions of a type, or, for `all`, to those of all types but C-VQA-Real's groups."""
    return [reply for reply in replies if (reply.type not in REAL if kind == ALL else reply.type == kind)]


def items(replies: Iterable[Reply], reader: ExtractorName) -> list[Item]:
    """One item after the other; `replies` are in the order of ids."""
    return [_item(list(some), place(reader)) for _, some in groupby(replies, key=lambda reply: reply.id)]


def standing(replies: Iterable[Reply], side: Side) -> list[Reply]:
    """The replies to an item's side that count, if any has a score."""
    scored = [reply for reply in replies if reply.side == side and reply.status == Status.OK]
    return [reply for reply in scored if reply.option_order in STANDING] or scored


def both_sides(of: Iterable[Item]) -> list[Item]:
    """Those with a score on both sides."""
    return [item for item in of if item.original is not None and item.counterfactual is not None]


def side_values(of: Sequence[Item], side: Side) -> list[ItemScore]:
    """What the items scored on a side, with their images."""
    return [ItemScore(item.id, item.image, value) for item in of if (value := getattr(item, side)) is not None]


def missing(replies: Iterable[Reply], reader: ExtractorName | None = None) -> str:
    """Why questions have no score, with counts, the commonest first.

    Args:
        replies: those that were due.
        reader: whose scores; `unread` are the replies that came and have none by it. None: only what did not come.
    """
    found: Counter[str] = Counter()
    for reply in replies:
        if reply.status != Status.OK:
            found[reply.status.value] += 1
        elif reader is not None and reply.correct[place(reader)] is None:
            found["unread"] += 1
    return counted(found)


def counted(of: Counter[str]) -> str:
    """`refused 3, no_image 1`."""
    ordered = sorted(of.items(), key=lambda reason: (-reason[1], reason[0]))
    return ", ".join(f"{reason} {count}" for reason, count in ordered)


def accuracies(of: Sequence[Item], how: Interval) -> Figures:
    """Accuracy of each side on its own scores, and their difference, with intervals; the test on pairs; the bounds.

    Each figure lies within its bounds, which those of the pairs with both scores alone need not. Of counterfactual
    questions alone there is their accuracy; scored are then those with a score.
    """
    if of and all(item.alone for item in of):
        scored = side_values(of, "counterfactual")
        shared = {"n": len(of), "n_scored": len(scored), "images": len({item.image for item in of})} | bounds(of)
        return shared | (figures_of({"counterfactual": estimate(scored, how)}) if scored else {})
    both = both_sides(of)
    figures: Figures = {"n": len(of), "n_scored": len(both), "images": len({item.image for item in both})}
    figures |= bounds(of)
    if not both:
        return figures
    first, then = side_values(of, "original"), side_values(of, "counterfactual")
    found = paired(side_values(both, "counterfactual"), side_values(both, "original"), how)
    difference = found.difference
    if not len(first) == len(then) == len(both):
        difference = unpaired(then, first, how)
    estimates = {"original": estimate(first, how), "counterfactual": estimate(then, how)}
    figures |= figures_of({**estimates, "difference": difference})
    return figures | tested(found)


def unpaired(first: Sequence[ItemScore], second: Sequence[ItemScore], how: Interval) -> Estimate:
    """The difference of two means where some items have one score alone, images drawn as a whole."""
    one, other = ([score.value for score in scores] for scores in (first, second))
    images = [score.cluster for score in first], [score.cluster for score in second]
    return partly_paired(one, other, how.level, how.resamples, how.seed, images)


def paired(first: Sequence[ItemScore], second: Sequence[ItemScore], how: Interval) -> Comparison:
    """Two scores of the same items, first − second, images drawn as a whole."""
    groups = [value.cluster for value in first]
    one, other = ([value.value for value in values] for values in (first, second))
    return compare(one, other, how.level, how.resamples, how.seed, groups)


def tested(found: Comparison) -> Figures:
    """`test` and `p`: McNemar's exact test where all scores are 0 or 1, else the bootstrap's."""
    if found.mcnemar:
        return {"test": "McNemar", "p": found.mcnemar.exact}
    return {"test": "bootstrap", "p": found.p}


def difference_of(name: str, found: Estimate) -> Figures:
    """`name`, `name_lo` and `name_hi`, rounded."""
    return {f"{name}{end}": rounded(x) for end, x in (("", found.value), ("_lo", found.low), ("_hi", found.high))}


def _item(replies: Sequence[Reply], reader: int) -> Item:
    sides = [standing(replies, side) for side in ("original", "counterfactual")]
    first, then = (mean_score(one.correct[reader] for one in some) for some in sides)
    unread = [bool(some) and all(one.read[reader] is None for one in some) for some in sides]
    alone = all(reply.side != "original" for reply in replies)
    return Item(replies[0].id, replies[0].image, first, then, (unread[0], unread[1]), alone)


def mean_score(scores: Iterable[int | None]) -> float | None:
    """The mean of the replies to a question that have a score; None where none has."""
    there = [score for score in scores if score is not None]
    return sum(there) / len(there) if there else None


def bounds(of: Sequence[Item]) -> Figures:
    """`original_min` to `difference_max`: what figures over all items could be, whatever missing scores were."""
    if not of:
        return {}
    low, high = _Filled(of, 0.0), _Filled(of, 1.0)
    if all(item.alone for item in of):
        ends = (("min", low), ("max", high))
        return {f"counterfactual_{end}": rounded(filled.counterfactual) for end, filled in ends}
    return {
        "original_min": rounded(low.original),
        "original_max": rounded(high.original),
        "counterfactual_min": rounded(low.counterfactual),
        "counterfactual_max": rounded(high.counterfactual),
        "difference_min": rounded(low.counterfactual - high.original),
        "difference_max": rounded(high.counterfactual - low.original),
    }


class _Filled:
    """Means over all items, with one value for every missing score."""

    def __init__(self, of: Sequence[Item], value: float) -> None:
        self.original, self.counterfactual = (
            sum(value if given is None else given for given in _given(of, side)) / len(of)
            for side in ("original", "counterfactual")
        )


def _given(of: Sequence[Item], side: str) -> Iterator[float | None]:
    return (getattr(item, side) for item in of)


def _rank(kind: str) -> tuple[int, str]:
    return (REAL.index(kind), "") if kind in REAL else (len(REAL), kind)
