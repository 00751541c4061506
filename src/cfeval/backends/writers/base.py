"""What every writer offers. It sees the texts, not the image (EDCT 2025, Section 3, Stage 2).

Only for `placebo-edit` it is shown the image, because what an explanation leaves out stands nowhere in the texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from cfeval.io.pictures import Picture
from cfeval.records.common import Metadata, Status


@dataclass(frozen=True)
class WriteRequest:
    """A question, a model's answer and its explanation; at most `edits` concepts are wanted.

    `picture` is the image, filled only for a protocol that edits what is not cited, and with it `metadata`,
    what the data set keeps beside it.
    """

    item: str
    question: str
    answer: str
    explanation: str
    seed: int
    edits: int = 1
    protocol: str = "edct-2025"
    picture: Picture | None = None
    metadata: Metadata | None = None


@dataclass(frozen=True)
class Edit:
    """A concept and the instruction that changes it, with its positive and negative part.

    `evidence` says what is edited, `object` or `background`, where the writer can tell.
    """

    concept: str
    positive: str
    negative: str
    evidence: Literal["", "object", "background"] = ""


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
