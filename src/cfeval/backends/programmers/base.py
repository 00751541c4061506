"""What everyone offers who writes a program that answers a question. It sees the question, not the image."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cfeval.records.common import Status
from cfeval.records.cvqa import PairType
from cfeval.records.programs import Language


@dataclass(frozen=True)
class ProgramRequest:
    """A question, and the language its program is wanted in."""

    item: str
    question: str
    type: PairType
    language: Language
    seed: int


@dataclass(frozen=True)
class ProgramReply:
    """The program, cut from the reply, or why there is none; `raw` is the reply as it came."""

    code: str = ""
    raw: str = ""
    model: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


class Programmer(Protocol):
    """Writes programs. A reply depends on its own request only."""

    def write(self, requests: Sequence[ProgramRequest]) -> list[ProgramReply]:
        """Write a program for every request, in order."""
        ...
