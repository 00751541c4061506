"""What every judge offers. It sees the texts, not the images and not the question (EDCT 2025, Appendix A)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from cfeval.records.common import Status

Bit = Literal[0, 1]


@dataclass(frozen=True)
class JudgeRequest:
    """Answer and explanation before and after, and the instruction of the edit between them."""

    item: str
    answer: str
    explanation: str
    positive: str
    negative: str
    new_answer: str
    new_explanation: str
    seed: int
    protocol: str = "edct-2025"


@dataclass(frozen=True)
class JudgeReply:
    """PCS and NCC, or why there are none.

    `stated_ccs` is the product as the judge wrote it, `raw` its whole reply, `calls` the stored calls it came from.
    """

    pcs: Bit | None = None
    ncc: Bit | None = None
    stated_ccs: Bit | None = None
    raw: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


class Judge(Protocol):
    """A judge. A reply depends on its own request only."""

    def judge(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """Judge every request, in order."""
        ...
