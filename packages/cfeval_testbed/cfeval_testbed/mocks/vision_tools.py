"""Vision operations that give what they were told to: for tests, and for trying programs out."""

from collections.abc import Sequence

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.core.records import Status
from cfeval.cvqa.plugins.vision_tool_models import center_in
from cfeval.cvqa.programs.vision import Box, Found, View, Vision, VisionError


class Plugin(plugin.Plugin):
    """What there is to see, and what is answered."""

    found: dict[str, tuple[Box, ...]] = {}
    """Boxes by name, the surest first; other names are not found. Those whose middle is in the part are."""
    answers: dict[str, str] = {}
    """Answers by question."""
    answer: str = "yes"
    """To all other questions."""
    scores: dict[str, float] = {}
    """How well a text describes any part, in relation to others; 1 for a text that is not here."""
    depth: float = 1.0
    """Of every part."""
    told: str = "nothing"
    """What the language model says."""
    statuses: dict[str, Status] = {}
    """Items whose every operation fails, and how."""
    crash_on: tuple[str, ...] = ()
    """Items whose operations break the whole job, as a crash would."""

    def build(self) -> Vision:
        """The mock vision."""
        return Scripted(self)


class Scripted:
    """Answers from the options; see `Plugin`."""

    def __init__(self, options: Plugin) -> None:
        self.options = options

    def find(self, view: View, name: str) -> list[Found]:
        """The boxes of that name, each by its number as key; the score falls by a hundredth from one to the next."""
        self._fail(view)
        boxes = self.options.found.get(name, ())
        found = [Found(box, max(0.0, 1 - n / 100), f"{name} {n}") for n, box in enumerate(boxes)]
        return [one for one in found if center_in(one.box, view.box)]

    def ask(self, view: View, question: str) -> str:
        """The answer that stands in the options."""
        self._fail(view)
        return self.options.answers.get(question, self.options.answer)

    def match(self, view: View, texts: Sequence[str]) -> list[float]:
        """The scores that stand in the options, as shares."""
        self._fail(view)
        scores = [self.options.scores.get(text, 1.0) for text in texts]
        return [score / sum(scores) for score in scores]

    def depth(self, view: View) -> float:
        """The depth that stands in the options."""
        self._fail(view)
        return self.options.depth

    def inside(self, inner: View, outer: View) -> bool:
        """Whether the middle of one box lies in the other: what is scripted has no outline."""
        self._fail(inner)
        return center_in(inner.box, outer.box)

    def tell(self, question: str, long: bool) -> str:
        """The text that stands in the options."""
        del question, long
        return self.options.told

    def _fail(self, view: View) -> None:
        if view.item in self.options.crash_on:
            raise PluginError(f"mock crash on item '{view.item}'")
        if status := self.options.statuses.get(view.item):
            raise VisionError("mock", status)
