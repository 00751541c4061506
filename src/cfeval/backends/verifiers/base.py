"""What every verifier offers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cfeval.io.pictures import Picture
from cfeval.records.world import Scene


@dataclass(frozen=True)
class VerifyRequest:
    """An image before and after an edit, the instruction, and the original's scene record where there is one."""

    item: str
    original: Picture
    edited: Picture
    positive: str
    scene: Scene | None = None


@dataclass(frozen=True)
class VerifyReply:
    """Whether the edit is right; None where this verifier cannot tell. `reason` says what is wrong."""

    verified: bool | None
    reason: str = ""


class Verifier(Protocol):
    """A verifier. A reply depends on its own request only."""

    def verify(self, requests: Sequence[VerifyRequest]) -> list[VerifyReply]:
        """Check every edit, in order."""
        ...
