"""What needs no solver: always the commonest answer, the opposite of the original's, chance."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cfeval.cvqa.records import REAL, form_of
from cfeval.cvqa.tables.items import Item, accuracies, of_kind
from cfeval.cvqa.tables.replies import AccuracyRow, Reply
from cfeval.report.tables import Figures
from cfeval.stats.intervals import Interval, mean

_OPPOSITE = {"yes": "no", "no": "yes"}
CHANCE = 0.25


class Gold(NamedTuple):
    """The right answers of a pair."""

    id: str
    image: str
    original: str
    counterfactual: str


def gold(replies: Iterable[Reply]) -> list[Gold]:
    """The right answers of the pairs that any of these replies is about, in the order of ids; both sides are needed."""
    sides: dict[str, dict[str, Reply]] = {}
    for reply in replies:
        sides.setdefault(reply.id, {}).setdefault(reply.side, reply)
    return [
        Gold(name, of["original"].image, of["original"].gold, of["counterfactual"].gold)
        for name, of in sorted(sides.items())
        if len(of) > 1
    ]


def baselines(name: str, kind: str, replies: Sequence[Reply], how: Interval) -> list[AccuracyRow]:
    """The rows of a set and type; the same pairs as its solvers were asked about.

    Args:
        replies: of all solvers of the set.
    """
    of = gold(of_kind(replies, kind))
    if not of:
        return []
    form = form_of(kind) if kind in REAL else "choice"
    found: dict[str, Figures] = {"majority": _untested(accuracies(_majority(of), how))}
    if form == "boolean":
        found["negate"] = {"counterfactual": mean(float(_OPPOSITE[p.original] == p.counterfactual) for p in of)}
    if form == "choice":
        found["chance"] = {"original": CHANCE, "counterfactual": CHANCE}
    shared = {"set": name, "kind": "baseline", "type": kind, "n": len(of), "n_scored": len(of)}
    shared["images"] = len({pair.image for pair in of})
    return [AccuracyRow.model_validate({**shared, "solver": who, **figures}) for who, figures in found.items()]


def _majority(of: Sequence[Gold]) -> list[Item]:
    """What always saying the commonest right answer of each side scores."""
    first, then = (_commonest(getattr(pair, side) for pair in of) for side in ("original", "counterfactual"))
    return [
        Item(p.id, p.image, float(p.original == first), float(p.counterfactual == then), (False, False)) for p in of
    ]


def _commonest(answers: Iterable[str]) -> str:
    return min(Counter(answers).items(), key=lambda found: (-found[1], found[0]))[0]


def _untested(figures: Figures) -> Figures:
    return {name: value for name, value in figures.items() if name not in ("test", "p")}
