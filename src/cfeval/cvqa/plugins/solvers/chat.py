"""A chat model that is asked directly: the question in its family's template, in a fresh turn with its images.

C-VQA, Section 4: every question, original and counterfactual, is a conversation of its own.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import model_validator

from cfeval.core import plugin, registry
from cfeval.core.errors import InputError, nearest
from cfeval.core.records import Status
from cfeval.core.registry import Diagnostic
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest, Solver
from cfeval.cvqa.prompt_templates import FAMILIES, put
from cfeval.inference.chat import ChatMessage, ChatModel, ChatReply, ChatRequest
from cfeval.inference.prompts import fill, load_prompt

OWN_NAME = "answer"
"""The name of an own template: answer.md in the folder `prompts`."""
TYPICAL_QUESTION = 60
"""Characters of a question, for estimates; with options about twice as many."""


class Plugin(plugin.Plugin):
    """Which model is asked, and how."""

    model: dict[str, Any] = plugin.component("chat")
    """The chat model: its plugin and options."""
    family: str = "plain"
    """Whose template: see `cfeval.cvqa.prompt_templates`."""
    cot: bool = False
    """Whether the question ends with the chain-of-thought suffix (Table 4)."""
    prompts: str = ""
    """Folder with an own template, answer.md, that names {question}; it takes the place of the family's."""

    @model_validator(mode="after")
    def _family_is_known(self) -> "Plugin":
        if self.family not in FAMILIES:
            raise ValueError(f"no template of family '{self.family}'; {nearest(self.family, FAMILIES)}")
        return self

    def dependencies(self) -> tuple[str, ...]:
        """The own template."""
        return (str(Path(self.prompts) / f"{OWN_NAME}.md"),) if self.prompts else ()

    def diagnose(self) -> Iterator[Diagnostic]:
        """A template of one's own that cannot be filled."""
        try:
            self.asked("?")
        except InputError as error:
            yield Diagnostic(False, str(error))

    def build(self) -> Solver:
        """The solver."""
        return Chat(registry.build("chat", self.model), self)

    def asked(self, question: str) -> str:
        """The question as it is put.

        Raises:
            InputError: the own template is missing, empty, or names something else than {question}.
        """
        if not self.prompts:
            return put(question, self.family, self.cot)
        template = load_prompt(OWN_NAME, protocol="answer", study="cvqa", folder=Path(self.prompts))
        return fill(template, question=put(question, "plain", self.cot))


class Chat:
    """Asks a chat model."""

    def __init__(self, model: ChatModel, options: Plugin) -> None:
        self.model = model
        self.options = options

    async def answer(self, request: AnswerRequest) -> AnswerReply:
        """Put a question to the model."""
        text = self.options.asked(request.question)
        return _reply(text, await self.model.generate(_request(request, text)))


def _request(request: AnswerRequest, text: str) -> ChatRequest:
    asked = ChatMessage("user", text, request.image, more_images=request.more_images)
    return ChatRequest(request.item, (asked,), derive_seed(request.seed, "answer"))


def _reply(text: str, reply: ChatReply) -> AnswerReply:
    if reply.status == Status.OK and not reply.text.strip():
        return AnswerReply(text, "", reply.model, Status.UNPARSABLE, "empty reply", reply.calls)
    return AnswerReply(text, reply.text.strip(), reply.model, reply.status, reply.reason, reply.calls)
