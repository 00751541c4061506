"""What every writer offers. It sees the texts, never the image (EDCT 2025, Section 3, Stage 2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cfeval.records.common import Status


@dataclass(frozen=True)
class WriteRequest:
    """A question, a model's answer and its explanation; at most `edits` concepts are wanted."""

    item: str
    question: str
    answer: str
    explanation: str
    seed: int
    edits: int = 1
    protocol: str = "edct-2025"


@dataclass(frozen=True)
class Edit:
    """A cited concept and the instruction that changes it, with its positive and negative part."""

    concept: str
    positive: str
    negative: str


@dataclass(frozen=True)
class WriteReply:
    """The edits, most important concept first, or why there are none.

    `raw` is the reply as it came; `calls` names the stored calls it came from.
    """

    edits: tuple[Edit, ...] = ()
    raw: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


class Writer(Protocol):
    """A writer. A reply depends on its own request only."""

    def write(self, requests: Sequence[WriteRequest]) -> list[WriteReply]:
        """Write the instructions of every request, in order."""
        ...
