"""What a program may ask of an image, injected from outside: find, ask, match, depth, inside; and a language model.

An implementation that lacks an operation raises `VisionError`; the program then fails with that reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cfeval.io.pictures import Picture
from cfeval.records.common import Status

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels of the whole image; y points down, right and bottom are exclusive."""


class VisionError(Exception):
    """An operation that cannot be done: not offered, or a model that failed; one line.

    `status` is that of a failed call to a model, `ok` where the program itself asked for what is not offered.
    """

    def __init__(self, reason: str, status: Status = Status.OK) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Found:
    """Something that was found: its box, and how sure the detector is, in [0, 1].

    `key` tells things of one image apart where boxes do not, for operations such as `inside`.
    """

    box: Box
    score: float = 1.0
    key: str = ""


@dataclass(frozen=True)
class View:
    """The part of an image that an operation looks at; `item` and `seed` are those of the question."""

    picture: Picture
    box: Box
    found: Found | None = None
    """What was found there, where the part is a finding."""
    item: str = ""
    seed: int = 0


class Vision(Protocol):
    """Operations on an image. The same arguments give the same result."""

    def find(self, view: View, name: str) -> list[Found]:
        """What of that name is there, the surest first; `name` is free text such as `red polygon`."""
        ...

    def ask(self, view: View, question: str) -> str:
        """A short answer to a question about the part."""
        ...

    def match(self, view: View, texts: Sequence[str]) -> list[float]:
        """How well each text describes the part, comparable among each other; sums to 1."""
        ...

    def depth(self, view: View) -> float:
        """Median depth of the part; larger is farther."""
        ...

    def inside(self, inner: View, outer: View) -> bool:
        """Whether what was found in `inner` lies within the outline of what was found in `outer` (not its box)."""
        ...

    def tell(self, question: str, long: bool) -> str:
        """What a language model replies to a text; short where `long` is false."""
        ...
