"""Programs per second

What the interpreters of C-VQA's programs run on one core, on a vision that answers at once, parsing included. Beside
each program of ViperGPT's kind, the same text run by Python itself with plain functions in the place of the vision:
what the budgets, the checks and the trace cost. The texts are this file's own.
"""

# ruff: noqa: ARG002, ARG005 - a vision is asked more than an instant one listens to

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.table import Table
from cfeval.core.images import Image
from cfeval.cvqa.programs.run import run_program
from cfeval.cvqa.programs.vision import Found, View
from cfeval.cvqa.records import Language

REPEATS, SECONDS = 5, 0.4
COUNT = """
def execute_command(image):
    whole = ImagePatch(image)
    trees = whole.find("tree")
    trees.sort(key=lambda tree: tree.left)
    rest = [tree for tree in trees[1:] if tree.horizontal_center > trees[0].right]
    return len(rest)
"""
CIRCLES = """
def execute_command(image):
    whole = ImagePatch(image)
    circles = whole.find("circle")
    circles.sort(key=lambda circle: len(circle.find("dot")), reverse=True)
    circles.pop(0)
    return max(len(circle.find("dot")) for circle in circles)
"""
LOOPS = """
def execute_command(image):
    import math
    total = 0
    for row in range(40):
        for column in range(20):
            if (row + column) % 3 == 0:
                total += math.floor(row * column / 7)
    return f"{total} in all"
"""
LINES = """
CATS=LOC(image=IMAGE,object='tree')
PART=CROP_RIGHTOF(image=IMAGE,box=CATS)
REST=LOC(image=PART,object='tree')
N=COUNT(box=REST)
SAID=VQA(image=PART,question='Is it old?')
A=EVAL(expr="{N} + 1 if {SAID} else {N}")
FINAL=RESULT(var=A)
"""


@dataclass(frozen=True)
class Instant:
    """A vision that has the same findings for every name, and yes for every question."""

    found: list[Found]

    def find(self, view: View, name: str) -> list[Found]:
        """Those that begin within the part."""
        return [one for one in self.found if view.box[0] <= one.box[0] < view.box[2]]

    def ask(self, view: View, question: str) -> str:
        """Always yes."""
        return "yes"

    def match(self, view: View, texts: Sequence[str]) -> list[float]:
        """Always equal."""
        return [1 / len(texts)] * len(texts)

    def depth(self, view: View) -> float:
        """Always near."""
        return 0.0

    def inside(self, inner: View, outer: View) -> bool:
        """Always."""
        return True

    def tell(self, question: str, long: bool) -> str:
        """Always yes."""
        return "yes"


FOUND = [Found((20.0 * n, 10.0, 20.0 * n + 15, 40.0), 1 - n / 10, str(n)) for n in range(6)]


class Bare:
    """What a program sees of a patch where Python runs it: no checks, no counting, no trace."""

    def __init__(self, box: tuple[float, float, float, float] = (0, 0, 200, 100)) -> None:
        self.left, self.right = int(box[0]), int(box[2])
        self.horizontal_center = (self.left + self.right) / 2

    def find(self, name: str) -> list["Bare"]:
        """Those that begin within the part."""
        return [Bare(found.box) for found in FOUND if self.left <= found.box[0] < self.right]


def tables() -> list[Table]:
    """The one table."""
    root = View(Image.from_pixels(np.zeros((100, 200, 3), np.uint8)), (0, 0, 200, 100))
    vision = Instant(FOUND)
    programs: dict[str, tuple[Language, str]] = {
        "ViperGPT: find, sort, filter": ("vipergpt", COUNT),
        "ViperGPT: find within findings": ("vipergpt", CIRCLES),
        "ViperGPT: 800 rounds of arithmetic": ("vipergpt", LOOPS),
        "VisProg: seven lines": ("visprog", LINES),
    }
    rows = []
    for name, (language, code) in programs.items():
        run = run_program(language, code, root, vision)
        if run.fault:
            raise AssertionError(run.fault)
        ours = _rate(lambda language=language, code=code: run_program(language, code, root, vision))  # type: ignore[misc]
        theirs = _rate(lambda code=code: _bare(code)) if language == "vipergpt" else None  # type: ignore[misc]
        beside = [f"{theirs:,.0f}", f"{theirs / ours:.1f}"] if theirs else ["", ""]
        rows.append([name, str(run.steps), f"{ours:,.0f}", *beside])
    columns = ("program", "steps", "programs/s", "Python itself, programs/s", "Python ÷ ours")
    return [Table("Programs", columns, rows, [f"The median of {REPEATS} runs."])]


def _bare(code: str) -> object:
    """Run one of this file's own programs by Python itself."""
    names: dict[str, object] = {"ImagePatch": lambda image: Bare(), "math": math}
    exec(compile(code, "<bench>", "exec"), names)
    function = names["execute_command"]
    return function(None) if callable(function) else None


def _rate(work: Callable[[], object]) -> float:
    """Runs a second of processor time, the median of several measurements."""
    work()
    rates = []
    for _ in range(REPEATS):
        start, count = time.process_time(), 0
        while (spent := time.process_time() - start) < SECONDS / REPEATS:
            work()
            count += 1
        rates.append(count / spent)
    return statistics.median(rates)
