"""What a program may ask of an image, injected from outside: find, ask, match, depth, inside; and a language model.

An implementation that lacks an operation raises `VisionError`; the program then fails with that reason. A program
reaches it by `Eyes` alone, where every operation is counted, and what comes back is checked.
"""

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.cvqa.programs.limits import Broken, Exhausted, Meter, ProgramFault, clean

# Left, top, right, bottom in pixels of the whole image; y points down, right and bottom are exclusive.
Box = tuple[float, float, float, float]
_T = TypeVar("_T")
# Of Python's stack, what is kept for a vision operation.
_HOSTS_FRAMES = 300


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

    image: Image
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


class Eyes:
    """A vision as a program reaches it; `root` is the whole image. Time spent in it is not the program's."""

    def __init__(self, vision: Vision, meter: Meter, root: View) -> None:
        self.root = root
        self._vision = vision
        self._meter = meter

    def find(self, view: View, name: object) -> list[Found]:
        """What of that name is there, the surest first."""
        text = _text("a name of what to find", name)
        places = self._do(lambda: list(self._vision.find(view, text)))
        self._meter.length(len(places))
        self._meter.step(len(places))
        return places

    def ask(self, view: View, question: object) -> str:
        """A short answer."""
        text = _text("a question", question)
        return self._cleaned(self._do(lambda: self._vision.ask(view, text)))

    def match(self, view: View, texts: Sequence[object]) -> list[float]:
        """How well each text describes the part."""
        wanted = [_text("a description", text) for text in texts]
        self._meter.step(len(wanted))
        scores = self._do(lambda: [float(score) for score in self._vision.match(view, wanted)])
        if len(scores) != len(wanted):
            raise Broken(ValueError(f"a vision gave {len(scores)} scores for {len(wanted)} texts"))
        return scores

    def depth(self, view: View) -> float:
        """Median depth."""
        return self._do(lambda: float(self._vision.depth(view)))

    def inside(self, inner: View, outer: View) -> bool:
        """Whether the one lies within the outline of the other."""
        return bool(self._do(lambda: self._vision.inside(inner, outer)))

    def tell(self, question: object, long: bool) -> str:
        """What a language model replies."""
        text = _text("a question", question)
        return self._cleaned(self._do(lambda: self._vision.tell(text, long)))

    def _cleaned(self, text: str) -> str:
        return self._meter.keep(clean(str(text)))

    def _do(self, operation: Callable[[], _T]) -> _T:
        self._meter.call()
        # A program that calls functions within functions may not leave a vision too little of Python's stack.
        frame, left = inspect.currentframe(), sys.getrecursionlimit() - _HOSTS_FRAMES
        while frame is not None and left > 0:
            frame, left = frame.f_back, left - 1
        if frame is not None:
            raise Exhausted("functions, generators or values are nested too deeply for a call of a vision operation")
        with self._meter.waiting():
            try:
                return operation()
            except VisionError:
                raise
            except Exception as error:
                raise Broken(error) from error


def _text(what: str, value: object) -> str:
    """A text that a program gives; numbers are written out, anything else is a fault."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    raise ProgramFault(f"{what} must be a text", kind="TypeError")
