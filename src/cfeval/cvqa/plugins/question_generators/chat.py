"""A question generator that is any language model: it reads a question and its answer and replies in the paper's step
format.
"""

from dataclasses import replace
from functools import partial

from cfeval.core import registry
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate
from cfeval.cvqa.building.steps import Steps, StepsError, read_steps
from cfeval.cvqa.interfaces import BuildReply, BuildRequest, QuestionGenerator, Wanted
from cfeval.cvqa.prompt_templates import CvqaChatPlugin
from cfeval.inference.chat import ChatModel
from cfeval.inference.prompts import ParsedReply, PromptTemplate, estimate_parsed, generate_parsed


def _unread(text: str) -> None:
    """A reply is read with its request at hand, which a form does not have."""
    del text


FORMS: dict[Wanted, PromptTemplate[Steps]] = {
    group: PromptTemplate("build", group, ("question", "answer"), {}, _unread) for group in ("direct", "boolean")
}
"""By group; without a schema: the paper's steps are lines of text."""


class Plugin(CvqaChatPlugin):
    """Which model, and how it is asked.

    Templates in an own folder: direct.md, direct_repair.md, boolean.md, boolean_repair.md.
    """

    def forms(self, protocol: str = "") -> tuple[PromptTemplate[Steps], ...]:
        """The question of each group."""
        del protocol
        return tuple(FORMS.values())

    def estimate_calls(self, protocol: str = "") -> tuple[CallEstimate, ...]:
        """One a request, and one where the reply must be repaired; the longer template stands for both groups."""
        return estimate_parsed(self, max(self.forms(protocol), key=lambda form: len(self.prompt(form).opening)))

    def build(self) -> QuestionGenerator:
        """The question generator."""
        return Chat(registry.build("chat", self.model), self)


class Chat:
    """Asks a chat model; see `cfeval.inference.prompts`."""

    def __init__(self, model: ChatModel, options: Plugin) -> None:
        self.model = model
        self.asked = {group: options.prompt(form) for group, form in FORMS.items()}

    async def build(self, request: BuildRequest) -> BuildReply:
        """Have a question built for a request."""
        asked = self.asked[request.type]
        bound = replace(asked, form=replace(asked.form, read=partial(_read, request)))
        values = {"question": request.question, "answer": request.answer}
        return _reply(request, await generate_parsed(self.model, bound, request.item, values, request.seed))


def _read(request: BuildRequest, text: str) -> Steps | None:
    try:
        return read_steps(text, request.question, request.answer, request.type)
    except StepsError:
        return None


def _reply(request: BuildRequest, heard: ParsedReply[Steps]) -> BuildReply:
    said = heard.value
    if said is not None:
        return BuildReply(said.step1, said.step2, said.question, said.answer, heard.completion, calls=heard.calls)
    reason = heard.reason
    if heard.status == Status.UNPARSABLE:
        reason = f"{reason}: {_fault(request, heard.completion)}"
    return BuildReply(completion=heard.completion, status=heard.status, reason=reason, calls=heard.calls)


def _fault(request: BuildRequest, raw: str) -> str:
    """Why the last reply was refused."""
    last = raw.rpartition("=== reply to the repair turn ===\n")[2]
    try:
        read_steps(last, request.question, request.answer, request.type)
    except StepsError as error:
        return str(error)
    return "the reply is empty"
