"""What every editor offers (EDCT 2025, Section 3, Stage 3)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cfeval.backends.verifiers.base import VerifyReply
from cfeval.io.pictures import Picture
from cfeval.records.common import Metadata, Status


@dataclass(frozen=True)
class EditRequest:
    """An image and the instruction.

    `concept` is what the instruction changes, in a few words; `metadata` is what the data set keeps beside
    the original image, filled only for an editor that `needs_metadata`; `edit` is the instruction's number among those
    of the item; `before` are the positive parts of the instructions that `picture` has been through already, in order.
    """

    item: str
    picture: Picture
    positive: str
    negative: str
    seed: int
    concept: str = ""
    metadata: Metadata | None = None
    edit: int = 1
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Try:
    """One attempt of an editor that checks its own work: what came of it, and what the verifier found."""

    seed: int
    picture: Picture
    found: VerifyReply


@dataclass(frozen=True)
class EditReply:
    """The edited image, or why there is none.

    `details` tells how it was made; `calls` names the stored calls it came from; `tries` are the attempts of an editor
    that checks its own work, the last one accepted where the status is ok.
    """

    picture: Picture | None = None
    details: dict[str, str] = field(default_factory=dict)
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()
    tries: tuple[Try, ...] = ()


class Editor(Protocol):
    """An editor. The same request gives the same bytes."""

    needs_metadata: bool

    def edit(self, requests: Sequence[EditRequest]) -> list[EditReply]:
        """Edit every image, in order."""
        ...
