"""A judge that is any chat model with eyes: it is shown the edited image, and is not told what was edited.

Neither paper has it. It must find out from the image which of the cited evidence has changed, so that it does not take
an instruction for an edit that was never made; its disagreement with the judge of the texts is reported. Under the
controls, where no judge is told of an edit, it compares the texts like any other.
"""

from dataclasses import replace
from typing import Any

from cfeval.core import registry
from cfeval.edct.interfaces import Judge
from cfeval.edct.plugins.chat_judge import FORMS, SEEN, ChatJudge, Forms, JudgePlugin
from cfeval.edct.protocols.rules import CONTROLS
from cfeval.inference.prompts import PromptTemplate


class Plugin(JudgePlugin):
    """Which model, and how it is asked.

    Templates in an own folder: those of the judge `chat`, but blind_judge.md, blind_grade.md for judge.md, grade.md.
    """

    def forms(self, protocol: str = "") -> Forms:
        """What is asked under a protocol."""
        return tuple(self.ordered(form if protocol in CONTROLS else _blind(form)) for form in FORMS[protocol])

    def build(self) -> Judge:
        """The judge."""
        return ChatJudge(
            registry.build("chat", self.model), self, {name: self.forms(name) for name in FORMS}, needs_image=True
        )


def _blind(form: PromptTemplate[Any]) -> PromptTemplate[Any]:
    return replace(form, opening=f"blind_{form.name}", placeholders=SEEN, seen=True)
