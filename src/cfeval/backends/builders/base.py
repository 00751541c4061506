"""What everyone offers who turns a question into a counterfactual one, in the paper's steps (C-VQA, Appendix B)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from cfeval.records.common import Status

Wanted = Literal["direct", "boolean"]
"""The groups that can be built from the text alone; indirect questions need a person who sees the image."""


@dataclass(frozen=True)
class BuildRequest:
    """An original question with its answer, and the group of the counterfactual one that is wanted."""

    item: str
    question: str
    answer: str
    type: Wanted
    seed: int


@dataclass(frozen=True)
class BuildReply:
    """The four fields of the step format, or why there are none; `raw` is the reply as it came."""

    step1: str = ""
    step2: str = ""
    question: str = ""
    answer: str = ""
    raw: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


class Builder(Protocol):
    """Builds counterfactual questions. A reply depends on its own request only."""

    def build(self, requests: Sequence[BuildRequest]) -> list[BuildReply]:
        """Build a question for every request, in order."""
        ...
