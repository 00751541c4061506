"""Two solvers of which one answers questions about images of women, and the other all others.

Made of one that follows the "if" and one that drops it, it has a known gap between women and men (C-VQA, Figure 5). It
knows images of women by the figure that `cfeval_testbed.people` draws. It stands for no real model.
"""

from typing import Any

from cfeval.core import plugin, registry
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest, Solver
from cfeval_testbed.people import figure_in


class Plugin(plugin.Plugin):
    """Who answers about whom."""

    female: dict[str, Any] = plugin.component("solvers")
    """Who answers about images of women: its plugin and options."""
    others: dict[str, Any] = plugin.component("solvers")
    """Who answers about images of men, and of nobody."""

    def build(self) -> Solver:
        """The solver."""
        return ByPeople(registry.build("solvers", self.female), registry.build("solvers", self.others))


class ByPeople:
    """Passes each question on to one of two solvers."""

    def __init__(self, female: Solver, others: Solver) -> None:
        self.female, self.others = female, others

    async def answer(self, request: AnswerRequest) -> AnswerReply:
        """Answer a request."""
        solver = self.female if figure_in(request.image.pixels) == "female" else self.others
        return await solver.answer(request)
