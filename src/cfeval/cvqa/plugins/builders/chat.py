"""A builder that is any language model: it reads a question and its answer and replies in the paper's step format."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from cfeval.core import registry
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate, Component, Diagnostic
from cfeval.cvqa.building.steps import Steps, StepsError, read_steps
from cfeval.cvqa.interfaces import Builder, BuildReply, BuildRequest, Wanted
from cfeval.cvqa.prompt_templates import with_templates
from cfeval.inference.batching import together
from cfeval.inference.chat import ChatModel, Dialogue, hold
from cfeval.inference.prompts import (
    AskingOptions,
    Form,
    Heard,
    ask,
    expected,
    model_of,
    question,
    template_faults,
    template_files,
)

PLACEHOLDERS = ("question", "answer")
GROUPS: tuple[Wanted, ...] = ("direct", "boolean")


class Options(AskingOptions):
    """Which model, and how it is asked.

    Templates in an own folder: direct.md, direct_repair.md, boolean.md, boolean_repair.md.
    """


def files(options: Options) -> tuple[str, ...]:
    """The templates."""
    return template_files(with_templates(options), *_FORMS.values())


def parts(options: Options) -> tuple[Component, ...]:
    """The language model."""
    return model_of(options)


def calls(options: Options) -> tuple[CallEstimate, ...]:
    """One a request, and one where the reply must be repaired; the longer template stands for both groups."""
    given = with_templates(options)
    longest = max(GROUPS, key=lambda group: len(question(given, _FORMS[group]).opening))
    return expected(given, _FORMS[longest])


def examine(options: Options) -> Iterator[Diagnostic]:
    """Templates that cannot be filled."""
    yield from template_faults(with_templates(options), *_FORMS.values())


def build(options: Options) -> Builder:
    """The builder."""
    return Chat(registry.build("chat", options.model), with_templates(options))


class Chat:
    """Asks a chat model; see `cfeval.inference.prompts`."""

    def __init__(self, model: ChatModel, options: AskingOptions) -> None:
        self.model = model
        self.side_by_side = together(model)
        self.asked = {group: question(options, form) for group, form in _FORMS.items()}

    def build(self, requests: Sequence[BuildRequest]) -> list[BuildReply]:
        """Have a question built for every request."""
        heard = hold(self.model, [self._dialogue(request) for request in requests])
        return [_reply(request, one) for request, one in zip(requests, heard, strict=True)]

    def _dialogue(self, request: BuildRequest) -> Dialogue[Heard[Steps]]:
        asked = self.asked[request.type]
        bound = replace(asked, form=replace(asked.form, read=partial(_read, request)))
        return ask(bound, request.item, {"question": request.question, "answer": request.answer}, request.seed)


def _read(request: BuildRequest, text: str) -> Steps | None:
    try:
        return read_steps(text, request.question, request.answer, request.type)
    except StepsError:
        return None


def _unread(text: str) -> None:
    """A reply is read with its request at hand, which a form does not have."""
    del text


_FORMS: dict[Wanted, Form[Steps]] = {group: Form("build", group, PLACEHOLDERS, {}, _unread) for group in GROUPS}
"""Without a schema: the paper's steps are lines of text."""


def _reply(request: BuildRequest, heard: Heard[Steps]) -> BuildReply:
    said = heard.value
    if said is not None:
        return BuildReply(said.step1, said.step2, said.question, said.answer, heard.raw, calls=heard.calls)
    reason = heard.reason
    if heard.status == Status.UNPARSABLE:
        reason = f"{reason}: {_fault(request, heard.raw)}"
    return BuildReply(raw=heard.raw, status=heard.status, reason=reason, calls=heard.calls)


def _fault(request: BuildRequest, raw: str) -> str:
    """Why the last reply was refused."""
    last = raw.rpartition("=== reply to the repair turn ===\n")[2]
    try:
        read_steps(last, request.question, request.answer, request.type)
    except StepsError as error:
        return str(error)
    return "the reply is empty"
