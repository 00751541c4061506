"""What every set of question pairs offers."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from cfeval.io.pictures import Picture
from cfeval.records.common import Metadata
from cfeval.records.cvqa import PairType, Question


@dataclass(frozen=True)
class RawPair:
    """A pair before it is filed: see `cfeval.records.cvqa.Pair` for the fields."""

    id: str
    picture: Picture
    original: Question
    counterfactual: Question
    type: PairType
    img_path: str
    coco: int | None = None
    metadata: Metadata | None = None
    counts: dict[str, int] = field(default_factory=dict)


class QuestionSet(Protocol):
    """A set of question pairs."""

    def pairs(self, items: int | None, seed: int) -> Iterator[RawPair]:
        """At most `items` pairs, all of them where it is None; the same arguments give the same pairs.

        Rows that cannot be used (no image, malformed) are left out, and `skipped` says which and why.
        """
        ...

    def count(self, items: int | None) -> int:
        """How many pairs `pairs` gives at most; no image is opened or drawn."""
        ...

    def with_options(self, items: int | None) -> int:
        """How many of these have questions with options, which can be asked in several orders; of a draw about."""
        ...

    @property
    def skipped(self) -> tuple[str, ...]:
        """One line for each row that `pairs` left out, after it is exhausted."""
        ...
