"""What every verifier offers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cfeval.io.pictures import Picture
from cfeval.records.common import Metadata


@dataclass(frozen=True)
class VerifyRequest:
    """An image before and after an edit, and the instruction.

    `concept` is what the instruction changes, in a few words; `metadata` is what the data set keeps beside the
    image that the first edit began with; `edit` is the instruction's number among those of the item; `before` are the
    positive parts of the instructions that `original` has been through already, in order.
    """

    item: str
    original: Picture
    edited: Picture
    positive: str
    metadata: Metadata | None = None
    negative: str = ""
    concept: str = ""
    before: tuple[str, ...] = ()
    seed: int = 0
    edit: int = 1


@dataclass(frozen=True)
class VerifyReply:
    """Whether the edit is right; None where this verifier cannot tell. `reason` says what is wrong.

    `numbers` are what was measured, by name (shares in [0, 1]); `pictures` what shows it, by name: `mask`, where the
    edit belongs, white, and `heat`, where pixels changed. `raw` is a model's reply as it came, `calls` names the stored
    calls.
    """

    verified: bool | None
    reason: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    raw: str = ""
    calls: tuple[str, ...] = ()


class Verifier(Protocol):
    """A verifier. A reply depends on its own request only."""

    def verify(self, requests: Sequence[VerifyRequest]) -> list[VerifyReply]:
        """Check every edit, in order."""
        ...
