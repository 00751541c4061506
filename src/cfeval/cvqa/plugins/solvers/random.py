"""Chance: an option at random, yes or no at random, a number from 0 to 10 at random; it never looks."""

import random

from cfeval.core import plugin
from cfeval.cvqa.csv_format import LETTERS
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest, Solver
from cfeval.cvqa.records import Form, form_of

_SAYS: dict[Form, tuple[str, ...]] = {
    "choice": tuple(LETTERS),
    "boolean": ("yes", "no"),
    "number": tuple(map(str, range(11))),
}


class Plugin(plugin.Plugin):
    """Without options."""

    def build(self) -> Solver:
        """The solver."""
        return Random()


class Random:
    """Draws every answer."""

    async def answer(self, request: AnswerRequest) -> AnswerReply:
        """An answer of the right form, drawn by the request's seed."""
        said = random.Random(request.seed).choice(_SAYS[form_of(request.type)])
        return AnswerReply(request.question, said, "random")
