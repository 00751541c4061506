"""What every judge offers. It sees the texts, not the images and not the question (EDCT 2025, Appendix A).

A judge that `needs_picture` is the exception: it is blind to the instructions and looks at the edited image itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from cfeval.io.pictures import Picture
from cfeval.records.common import Status

Bit = Literal[0, 1]


@dataclass(frozen=True)
class Change:
    """An edit's instruction: its positive and negative part."""

    positive: str
    negative: str = ""


@dataclass(frozen=True)
class JudgeRequest:
    """Answer and explanation before and after, and the instructions of all edits between them, in order.

    A control has none: nothing that is cited was changed. `question` and `picture`, the edited image, are filled only
    for a judge that `needs_picture`; it gets no instructions.
    """

    item: str
    answer: str
    explanation: str
    changes: tuple[Change, ...]
    new_answer: str
    new_explanation: str
    seed: int
    protocol: str = "edct-2025"
    question: str = ""
    picture: Picture | None = None


@dataclass(frozen=True)
class JudgeReply:
    """The protocol's two scores by name (`cfeval.protocols.rules`), or why there are none.

    `grade`, from 1 to 5, is there where the protocol has one and it could be had; else `grade_reason` says why not. A
    reply can be ok without it. `stated_ccs` is the product as the judge wrote it, `raw` its whole reply, `calls` the
    stored calls it came from.
    """

    scores: Mapping[str, Bit] = field(default_factory=dict)
    grade: float | None = None
    grade_reason: str = ""
    stated_ccs: Bit | None = None
    raw: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


class Judge(Protocol):
    """A judge. A reply depends on its own request only."""

    needs_picture: bool

    def judge(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """Judge every request, in order."""
        ...
