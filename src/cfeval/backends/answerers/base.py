"""What everyone offers who answers questions about images: a model that is asked, a program, chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cfeval.io.pictures import Picture
from cfeval.records.common import Status
from cfeval.records.cvqa import PairType, Side
from cfeval.records.programs import ProgramRun


@dataclass(frozen=True)
class AnswerRequest:
    """A question about an image, asked in a fresh turn; `type` says what kind of answer is due."""

    item: str
    side: Side
    type: PairType
    picture: Picture
    question: str
    seed: int


@dataclass(frozen=True)
class AnswerReply:
    """What was asked and said, or why nothing was; `program` is the program that said it, where it was one."""

    asked: str
    text: str = ""
    model: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()
    program: ProgramRun | None = None


class Answerer(Protocol):
    """Answers questions. A reply depends on its own request only."""

    def answer(self, requests: Sequence[AnswerRequest]) -> list[AnswerReply]:
        """Answer every request, in order."""
        ...
