"""Counterfactuals in little memory: what the tests of the hypotheses need of a score."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar, cast

from cfeval.records.common import Status
from cfeval.records.vce import Pair, VceScore

T = TypeVar("T")


class Cell(NamedTuple):
    """What is compared across arms: the same image and target, or the same group.

    `unit` is what is drawn as a whole: the source image, or without scores of images the source class.
    """

    unit: str
    target: str
    repeat: int = 0


class Seen(NamedTuple):
    """What classifiers say of a counterfactual; few are different, so rows share them."""

    pair: Pair
    status: Status
    predicted: str | None
    oracles: tuple[tuple[str, str], ...]


class Row(NamedTuple):
    """A counterfactual; `distances` are those of `closeness`, in order."""

    cell: Cell
    seen: Seen
    distances: tuple[float | None, ...]


def kept(scores: Iterable[VceScore], closeness: Sequence[str], same: dict[object, object]) -> list[Row]:
    """The scores of an arm, in the order in which they come.

    Args:
        closeness: names of distances.
        same: keeps one copy of equal values, of this arm and others; added to.
    """

    def once(value: T) -> T:
        return cast(T, same.setdefault(value, value))

    return [
        Row(
            once(Cell(score.source_image, score.target, score.repeat)),
            once(Seen(score.pair, score.status, score.predicted, tuple(sorted(score.oracles.items())))),
            tuple(score.distances.get(name) for name in closeness),
        )
        for score in scores
    ]
