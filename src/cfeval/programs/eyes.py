"""The one way from a program to the vision: every operation is counted, and what comes back is checked."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from cfeval.programs.budget import Meter
from cfeval.programs.faults import Broken, ProgramFault
from cfeval.programs.trace import clean
from cfeval.programs.vision import Found, View, Vision, VisionError

_T = TypeVar("_T")


class Eyes:
    """A vision as a program reaches it; `root` is the whole image. Time spent in it is not the program's."""

    def __init__(self, vision: Vision, meter: Meter, root: View) -> None:
        self.root = root
        self._vision = vision
        self._meter = meter

    def find(self, view: View, name: object) -> list[Found]:
        """What of that name is there, the surest first."""
        text = _text("a name of what to find", name)
        found = self._do(lambda: list(self._vision.find(view, text)))
        self._meter.length(len(found))
        self._meter.step(len(found))
        return found

    def ask(self, view: View, question: object) -> str:
        """A short answer."""
        text = _text("a question", question)
        return self._said(self._do(lambda: self._vision.ask(view, text)))

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
        return self._said(self._do(lambda: self._vision.tell(text, long)))

    def _said(self, text: str) -> str:
        return self._meter.keep(clean(str(text)))

    def _do(self, operation: Callable[[], _T]) -> _T:
        self._meter.call()
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
