"""What everyone offers who checks a drafted question against its image (C-VQA, Section 3.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from cfeval.io.pictures import Picture
from cfeval.records.common import Metadata, Status
from cfeval.records.cvqa import PairType, Question


@dataclass(frozen=True)
class CheckRequest:
    """A draft beside its image; `metadata` is what the source keeps beside it, for checkers that know the truth."""

    item: str
    picture: Picture
    original: Question
    counterfactual: Question
    type: PairType
    seed: int
    metadata: Metadata | None = None


@dataclass(frozen=True)
class CheckReply:
    """Whether the new question is about the image, and whether its answer is right; or why neither is known."""

    related: Literal[0, 1] | None = None
    reasonable: Literal[0, 1] | None = None
    reason_given: str = ""
    raw: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


class Checker(Protocol):
    """Checks drafts. A reply depends on its own request only."""

    def check(self, requests: Sequence[CheckRequest]) -> list[CheckReply]:
        """Check every request, in order."""
        ...
