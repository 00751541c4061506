"""A vision for tests: it knows where things are, what each question is answered, and counts what it is asked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from cfeval.core.images import Image
from cfeval.cvqa.programs.limits import Budget
from cfeval.cvqa.programs.run import run_program
from cfeval.cvqa.programs.vision import Box, Found, View
from cfeval.cvqa.records import ProgramRun

WIDTH, HEIGHT = 200, 100
IMAGE = Image.from_pixels(np.zeros((HEIGHT, WIDTH, 3), np.uint8))
ROOT = View(IMAGE, (0, 0, WIDTH, HEIGHT), item="i", seed=1)


@dataclass
class Scripted:
    """Things by name, as boxes of the whole image; what is `inside` what by key; answers by question.

    `find` gives what lies with its centre in the part, in the order of the list.
    """

    things: dict[str, list[Found]] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    within: set[tuple[str, str]] = field(default_factory=set)
    told: dict[str, str] = field(default_factory=dict)
    like: Callable[[View, str], float] = lambda view, text: 1.0
    fails: Exception | None = None
    asked: list[tuple[str, Box, object]] = field(default_factory=list)

    def find(self, view: View, name: str) -> list[Found]:
        self._note("find", view, name)
        return [one for one in self.things.get(name, []) if _centre_in(one.box, view.box)]

    def ask(self, view: View, question: str) -> str:
        self._note("ask", view, question)
        own = view.found.key if view.found else ""
        if f"{own}: {question}" in self.answers:
            return self.answers[f"{own}: {question}"]
        return self.answers.get(question, "unknown")

    def match(self, view: View, texts: Sequence[str]) -> list[float]:
        self._note("match", view, tuple(texts))
        scores = [self.like(view, text) for text in texts]
        return [score / sum(scores) for score in scores]

    def depth(self, view: View) -> float:
        self._note("depth", view, None)
        return view.box[0] / WIDTH

    def inside(self, inner: View, outer: View) -> bool:
        self._note("inside", inner, None)
        assert inner.found is not None
        assert outer.found is not None
        return (inner.found.key, outer.found.key) in self.within

    def tell(self, question: str, long: bool) -> str:
        self._note("tell", ROOT, (question, long))
        return self.told.get(question, "a long reply" if long else "no")

    def _note(self, operation: str, view: View, argument: object) -> None:
        if self.fails is not None:
            raise self.fails
        self.asked.append((operation, view.box, argument))


def thing(left: float, top: float, right: float, bottom: float, key: str = "", score: float = 1.0) -> Found:
    return Found((left, top, right, bottom), score, key)


def _centre_in(box: Box, view: Box) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return view[0] <= x < view[2] and view[1] <= y < view[3]


def python(body: str, vision: Scripted | None = None, budget: Budget | None = None) -> ProgramRun:
    """Run the body of `execute_command(image)` without a fall-back."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return whole(f"def execute_command(image):\n{lines}\n", vision, budget)


def whole(code: str, vision: Scripted | None = None, budget: Budget | None = None) -> ProgramRun:
    """Run a whole program of ViperGPT's kind, without a fall-back."""
    return run_program("vipergpt", code, ROOT, vision or Scripted(), budget or Budget(), fallback=False)


def steps(code: str, vision: Scripted | None = None, budget: Budget | None = None) -> ProgramRun:
    """Run a program of VisProg's kind, without a fall-back."""
    return run_program("visprog", code, ROOT, vision or Scripted(), budget or Budget(), fallback=False)
