"""A judge that is any chat model, asked once or several times (EDCT 2025, Section 3, Stage 4: self-consistency)."""

from dataclasses import replace
from typing import Literal

from cfeval.core import registry
from cfeval.edct.interfaces import Judge
from cfeval.edct.plugins.chat_judge import FORMS, ChatJudge, Forms, JudgePlugin


class Plugin(JudgePlugin):
    """Which model, and how it is asked.

    Templates in an own folder: judge.md, judge_repair.md; for edct-bench-2026 grade.md, grade_repair.md too; for the
    controls compare.md, compare_repair.md. With `wording: b` it is judge_b.md, grade_b.md, compare_b.md.
    """

    wording: Literal["a", "b"] = "a"
    """Which of two templates for the same task, rules and form of reply."""

    def forms(self, protocol: str = "") -> Forms:
        """What is asked under a protocol."""
        ending = "" if self.wording == "a" else f"_{self.wording}"
        return tuple(replace(self.ordered(form), opening=f"{form.name}{ending}") for form in FORMS[protocol])

    def build(self) -> Judge:
        """The judge."""
        return ChatJudge(registry.build("chat", self.model), self, {name: self.forms(name) for name in FORMS})
