"""The built-in question generator: reads questions about drawn scenes by the world's grammar, without a model.

Like the paper's, it sees the question and its answer, not the image. A known share of its drafts can be made wrong, to
see what the checks catch.
"""

import random
from collections.abc import Callable
from typing import Literal

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.records import Status
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.building import Steps, write_steps
from cfeval.cvqa.interfaces import BuildReply, BuildRequest, QuestionGenerator
from cfeval_testbed.counterfactual_questions.language import parse, plural, singular, word
from cfeval_testbed.counterfactual_questions.meaning import (
    Add,
    Change,
    Kind,
    Meaning,
    Multiply,
    Remove,
    Supposition,
    Take,
)
from cfeval_testbed.language.explanations import article
from cfeval_testbed.records import COLORS, SHAPES

Fault = Literal["", "sum", "answer", "unrelated"]
"""What is wrong on purpose: the sum of step 2, an answer that does not follow from what is supposed, or a question that
is not about the image. Of a boolean draft, which has no sum, `sum` is an answer that was not turned round."""
FAULTS: tuple[Fault, ...] = ("sum", "answer", "unrelated")
_MOST = 5
_ELSEWHERE = (
    "How many moons would the night have if {number} more rose?",
    "How many loaves would the baker sell if {number} more guests came?",
)
_ELSEWHERE_TURNED = ("Would the ferry be late if fog lay on the river?", "Would the lake freeze if winter came early?")
"""Questions about no drawn scene."""


class UnbuildableError(ValueError):
    """There is no question to build, and why."""


class Plugin(plugin.Plugin):
    """How often it errs."""

    err: float = Field(0.0, ge=0, le=1)
    """Share of drafts that are wrong on purpose."""
    seed: int = 0
    """Of the errors; another one errs on other items."""

    def build(self) -> QuestionGenerator:
        """The grammar-based question generator."""
        return Grammar(self)


class Grammar:
    """Question and answer → what is supposed → the new answer → the draft."""

    def __init__(self, options: Plugin) -> None:
        self.options = options

    def fault(self, request: BuildRequest) -> Fault:
        """What will be wrong with the draft of a request."""
        rng = random.Random(derive_seed(self.options.seed, request.seed, request.item, "fault"))
        return rng.choice(FAULTS) if rng.random() < self.options.err else ""

    async def build(self, request: BuildRequest) -> BuildReply:
        """Build a question for a request; what the grammar cannot read is `unparsable`."""
        try:
            meaning = _meaning(request)
        except UnbuildableError as error:
            return BuildReply(completion=request.question, status=Status.UNPARSABLE, reason=str(error))
        rng = random.Random(derive_seed(request.seed, "build"))
        said = _BUILT[request.type](request, meaning, self.fault(request), rng)
        return BuildReply(said.step1, said.step2, said.question, said.answer, completion=write_steps(said))


def _meaning(request: BuildRequest) -> Meaning:
    meaning = parse(request.question)
    if meaning is None or meaning.supposed is not None:
        raise UnbuildableError("the question is not in the language of the test bed")
    asked = "count" if request.type == "direct" else "presence"
    if meaning.asked != asked or request.answer.isdecimal() != (asked == "count"):
        raise UnbuildableError(f"a {request.type} question cannot be built from {request.question!r}")
    return meaning


def _direct(request: BuildRequest, meaning: Meaning, fault: Fault, rng: random.Random) -> Steps:
    before = int(request.answer)
    supposed = _counted(meaning.kind, before, rng)
    sign, number = _sum(supposed)
    asked = word(Meaning("count", meaning.kind, supposed), rng)
    if fault == "unrelated":
        asked = rng.choice(_ELSEWHERE).format(number=number)
    if fault == "answer":
        number += -1 if sign == "-" else 1
    after = {"+": before + number, "-": before - number, "*": before * number}[sign]
    if fault == "sum":
        after += rng.choice([1, 2])
    step2 = f"The answer would be {before} {sign} {number} = {after}."
    return Steps(request.question, request.answer, f"{_told(supposed).capitalize()}.", step2, asked, str(after))


def _counted(kind: Kind, before: int, rng: random.Random) -> Supposition:
    """More or fewer of what is counted; of none nothing can be removed."""
    supposed: list[Supposition] = [Add(rng.randint(1, _MOST), kind)]
    if before:
        supposed += [Take(rng.randint(1, before), kind), Multiply(rng.choice([2, 3]), kind)]
    return rng.choice(supposed)


def _sum(supposed: Supposition) -> tuple[str, int]:
    """The sign and number of the sum that says what becomes of a count."""
    match supposed:
        case Add(number):
            return "+", number
        case Take(number):
            return "-", number
        case Multiply(factor):
            return "*", factor
    raise UnbuildableError("no sum says what becomes of the number")


def _boolean(request: BuildRequest, meaning: Meaning, fault: Fault, rng: random.Random) -> Steps:
    turned = "no" if request.answer == "yes" else "yes"
    thing = article(singular(meaning.kind))
    supposed = _turning(meaning.kind, turned, rng)
    state = f"there is {thing}" if turned == "yes" else f"there is no {singular(meaning.kind)}"
    how = f"How to make this so: {_told(supposed)}."
    asked = word(Meaning("presence", meaning.kind, supposed), rng)
    if fault == "unrelated":
        asked = rng.choice(_ELSEWHERE_TURNED)
    said = request.answer if fault in ("sum", "answer") else turned
    step1 = f"The new answer should be {said if fault == 'answer' else turned}, so {state}."
    return Steps(request.question, request.answer, step1, how, asked, said)


def _turning(kind: Kind, turned: str, rng: random.Random) -> Supposition:
    """What makes the new answer true whatever else is in the image."""
    if turned == "yes":
        return Add(1, kind)
    color = rng.choice([one for one in COLORS if one != kind.color])
    shape = rng.choice([one for one in SHAPES if one != kind.shape])
    supposed: list[Supposition] = [Remove("every", kind)]
    supposed += [Change("every", kind, "color", color)] if kind.color else []
    supposed += [Change("every", kind, "shape", shape)] if kind.shape else []
    return rng.choice(supposed)


def _told(supposed: Supposition) -> str:
    """What is supposed, as an order."""
    some = plural(supposed.kind)
    match supposed:
        case Add(number, kind):
            return f"add {article(singular(kind)) if number == 1 else f'{number} {some}'}"
        case Take(number, kind):
            return f"remove {f'one {singular(kind)}' if number == 1 else f'{number} {some}'}"
        case Multiply(factor):
            return f"{'double' if factor == 2 else 'triple'} the number of {some}"
        case Change(_, kind, "color", value):
            return f"paint every {singular(kind)} {value}"
        case Change(_, kind, _, value):
            return f"turn every {singular(kind)} into {article(value)}"
    return f"remove all {some}"


_BUILT: dict[str, Callable[[BuildRequest, Meaning, Fault, random.Random], Steps]] = {
    "direct": _direct,
    "boolean": _boolean,
}
