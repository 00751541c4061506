"""What every judge of given pairs offers: two questions, and neither is told what the other one says."""

from dataclasses import dataclass
from typing import Protocol

from cfeval.core.records import Binary, Status


@dataclass(frozen=True)
class NamingRequest:
    """An explanation, and a thing as it is in both images of a pair (empty: it is not there).

    `before` is the image that comes first, which is the changed one of every second pair, drawn by a hash. The judge is
    not told which image the explanation is about, what the answer was, or whether it moved.
    """

    item: str
    explanation: str
    before: str
    after: str
    seed: int


@dataclass(frozen=True)
class AnswersRequest:
    """Answers and explanations of two conversations, in the order of the images: is the second answer another one?"""

    item: str
    answer: str
    explanation: str
    new_answer: str
    new_explanation: str
    seed: int


@dataclass(frozen=True)
class Ruling:
    """Yes (1) or no (0), or why there is neither. `completion` is the reply as it came; `calls` the stored calls."""

    value: Binary | None = None
    completion: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


class PairJudge(Protocol):
    """A judge of given pairs. A ruling depends on its own request only."""

    async def names(self, request: NamingRequest) -> Ruling:
        """Whether the explanation names the changed thing, as it is before or after the change."""
        ...

    async def moved(self, request: AnswersRequest) -> Ruling:
        """Whether the second answer is another one; asked only where the texts alone do not decide."""
        ...
