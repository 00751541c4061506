"""Chance: an option at random, yes or no at random, a number from 0 to 10 at random; it never looks.

An open question has no answers to draw from: it is `rejected`.
"""

import random

from cfeval.core import plugin
from cfeval.core.records import Status
from cfeval.cvqa.choices import read_choices
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest, Solver
from cfeval.cvqa.records import Form

_SAYS: dict[Form, tuple[str, ...]] = {
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
        choices = read_choices(request.question)
        answers = tuple(choices.letters) if choices else _SAYS.get(request.form, ())
        if not answers:
            return AnswerReply(request.question, "", "random", Status.REJECTED, "chance has no words of its own")
        said = random.Random(request.seed).choice(answers)
        return AnswerReply(request.question, said, "random")
