"""A question validator that is any chat model with eyes: it sees the image, both questions and both answers.

It says of a draft whether the new question is about the image, and whether its answer is right (C-VQA, Section 3.2).
"""

from pydantic import BaseModel, ConfigDict

from cfeval.core import registry
from cfeval.cvqa.interfaces import CheckReply, CheckRequest, QuestionValidator
from cfeval.cvqa.prompt_templates import CvqaChatPlugin
from cfeval.inference.chat import ChatModel
from cfeval.inference.parsing import BINARY, TEXT, StrictBinary, object_schema
from cfeval.inference.prompts import ParsedReply, Prompt, PromptTemplate, generate_parsed
from cfeval.inference.verdicts import clear_verdict

SCHEMA = object_schema(analysis=TEXT, related=BINARY, reasonable=BINARY)
"""A reply; the analysis comes first, so that the verdict follows from it."""


class Verdict(BaseModel):
    """Whether the new question is about the image, and whether its answer is right."""

    model_config = ConfigDict(frozen=True)

    related: StrictBinary
    reasonable: StrictBinary


def read_verdict(text: str) -> Verdict | None:
    """The verdict of a reply, or None where it leaves doubt: JSON, or two lines `RELATED:`, `REASONABLE:`."""
    return clear_verdict(text, Verdict, "01")


PLACEHOLDERS = ("question", "answer", "new_question", "new_answer")
FORM = PromptTemplate("build", "check", PLACEHOLDERS, SCHEMA, read_verdict, seen=True)
_REASON = 300
"""Characters that are kept of what was said before the verdict."""


class Plugin(CvqaChatPlugin):
    """Which model, and how it is asked. Templates in an own folder: check.md, check_repair.md."""

    def forms(self, protocol: str = "") -> tuple[PromptTemplate[Verdict]]:
        """What is asked, with the image."""
        del protocol
        return (FORM,)

    def build(self) -> QuestionValidator:
        """The question validator."""
        return Chat(registry.build("chat", self.model), self.prompt(FORM))


class Chat:
    """Asks a chat model about every draft; see `cfeval.inference.prompts`."""

    def __init__(self, model: ChatModel, asked: Prompt[Verdict]) -> None:
        self.model, self.asked = model, asked

    async def check(self, request: CheckRequest) -> CheckReply:
        """Have a draft looked at; a reply without a verdict is no review."""
        values = {
            "question": request.original.question,
            "answer": request.original.answer,
            "new_question": request.counterfactual.question,
            "new_answer": request.counterfactual.answer,
        }
        heard = await generate_parsed(self.model, self.asked, request.item, values, request.seed, request.image)
        return _reply(heard)


def _reply(heard: ParsedReply[Verdict]) -> CheckReply:
    said = heard.value
    if said is None:
        return CheckReply(completion=heard.completion, status=heard.status, reason=heard.reason, calls=heard.calls)
    reason = " ".join(heard.completion.split())[:_REASON]
    return CheckReply(said.related, said.reasonable, reason, heard.completion, calls=heard.calls)
