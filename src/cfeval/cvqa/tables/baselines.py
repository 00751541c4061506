"""What needs no solver: always the commonest answer, the opposite of the original's, chance."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cfeval.cvqa.records import Form
from cfeval.cvqa.tables.items import Item, accuracies, of_kind
from cfeval.cvqa.tables.replies import AccuracyRow, Reply
from cfeval.report.tables import Figures
from cfeval.stats.intervals import Interval, mean, rounded

_OPPOSITE = {"yes": "no", "no": "yes"}


class Gold(NamedTuple):
    """The right answers of a pair; `original` is None where it has no original question."""

    id: str
    image: str
    original: str | None
    counterfactual: str
    form: Form = "number"
    options: int = 0


def gold(replies: Iterable[Reply]) -> list[Gold]:
    """The right answers of the pairs that any of these replies is about, in the order of ids."""
    sides: dict[str, dict[str, Reply]] = {}
    for reply in replies:
        sides.setdefault(reply.id, {}).setdefault(reply.side, reply)
    return [
        Gold(name, then.image, of["original"].gold if "original" in of else None, then.gold, then.form, then.options)
        for name, of in sorted(sides.items())
        if (then := of.get("counterfactual"))
    ]


def baselines(name: str, kind: str, replies: Sequence[Reply], how: Interval) -> list[AccuracyRow]:
    """The rows of a set and type; the same pairs as its solvers were asked about.

    Args:
        replies: of all solvers of the set.
    """
    of = gold(of_kind(replies, kind))
    if not of:
        return []
    forms = {pair.form for pair in of}
    paired = all(pair.original is not None for pair in of)
    found: dict[str, Figures] = {"majority": _untested(accuracies(_majority(of), how))}
    if forms == {"boolean"} and paired:
        found["negate"] = {
            "counterfactual": mean(float(_OPPOSITE.get(p.original or "") == p.counterfactual) for p in of)
        }
    if forms == {"choice"}:
        chance = rounded(mean(1 / pair.options for pair in of))
        found["chance"] = {"original": chance if paired else None, "counterfactual": chance}
    shared = {"set": name, "kind": "baseline", "type": kind, "n": len(of), "n_scored": len(of)}
    shared["images"] = len({pair.image for pair in of})
    return [AccuracyRow.model_validate({**shared, "solver": who, **figures}) for who, figures in found.items()]


def _majority(of: Sequence[Gold]) -> list[Item]:
    """What always saying the commonest right answer of each side scores."""
    given = [pair.original for pair in of if pair.original is not None]
    first, then = _commonest(given) if given else "", _commonest(pair.counterfactual for pair in of)
    return [
        Item(
            p.id,
            p.image,
            None if p.original is None else float(p.original == first),
            float(p.counterfactual == then),
            (False, False),
            p.original is None,
        )
        for p in of
    ]


def _commonest(answers: Iterable[str]) -> str:
    return min(Counter(answers).items(), key=lambda found: (-found[1], found[0]))[0]


def _untested(figures: Figures) -> Figures:
    return {name: value for name, value in figures.items() if name not in ("test", "p")}
