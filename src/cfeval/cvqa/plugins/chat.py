"""What any chat model does for cvqa: it writes questions and programs, checks drafts, and reads replies.

Each sees only what its part needs; prompts lie in the package or in a folder of the user's.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from cfeval.core import plugin, registry
from cfeval.core.errors import InputError
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate, Component, Diagnostic
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.building import Steps, StepsError, read_steps
from cfeval.cvqa.interfaces import (
    BuildReply,
    BuildRequest,
    CheckReply,
    CheckRequest,
    OpenAnswer,
    OpenVerdict,
    ProgramGenerator,
    ProgramReply,
    ProgramRequest,
    QuestionGenerator,
    QuestionValidator,
    ReadReply,
    ReadRequest,
    ReplyReader,
    Wanted,
)
from cfeval.cvqa.programs.reply import cut_program
from cfeval.cvqa.prompt_templates import CvqaChatPlugin
from cfeval.cvqa.records import Form, Language
from cfeval.inference.chat import ChatMessage, ChatModel, ChatRequest
from cfeval.inference.parsing import BINARY, TEXT, StrictBinary, object_schema
from cfeval.inference.prompts import (
    Prompt,
    PromptTemplate,
    estimate_parsed,
    fill,
    generate_parsed,
    load_prompt,
    prompt_file,
)
from cfeval.inference.thinking import without_thoughts
from cfeval.inference.verdicts import clear_verdict


def _unread(text: str) -> None:
    """A reply is read with its request at hand, which a form does not have."""
    del text


# By group; without a schema: the paper's steps are lines of text.
STEP_FORMS: dict[Wanted, PromptTemplate[Steps]] = {
    group: PromptTemplate("build", group, ("question", "answer"), {}, _unread) for group in ("direct", "boolean")
}


class QuestionGeneratorPlugin(CvqaChatPlugin):
    """A question generator that is any language model: it reads a question and its answer and replies in the
    paper's step format.

    Templates in an own folder: direct.md, direct_repair.md, boolean.md, boolean_repair.md.
    """

    def forms(self, protocol: str = "") -> tuple[PromptTemplate[Steps], ...]:
        """The question of each group."""
        del protocol
        return tuple(STEP_FORMS.values())

    def estimate_calls(self, protocol: str = "") -> tuple[CallEstimate, ...]:
        """One a request, and one where the reply must be repaired; the longer template stands for both groups."""
        return estimate_parsed(self, max(self.forms(protocol), key=lambda form: len(self.prompt(form).opening)))

    def build(self) -> QuestionGenerator:
        """The question generator."""
        return ChatQuestionGenerator(registry.build("chat", self.model), self)


class ChatQuestionGenerator:
    """Asks a chat model; see `cfeval.inference.prompts`."""

    def __init__(self, model: ChatModel, options: QuestionGeneratorPlugin) -> None:
        self.model = model
        self.asked = {group: options.prompt(form) for group, form in STEP_FORMS.items()}

    async def build(self, request: BuildRequest) -> BuildReply:
        """Have a question built for a request."""
        prompt = self.asked[request.type]
        bound = replace(prompt, form=replace(prompt.form, read=partial(_read_steps, request)))
        values = {"question": request.question, "answer": request.answer}
        reply = await generate_parsed(self.model, bound, request.item, values, request.seed)
        steps = reply.value
        if steps is not None:
            return BuildReply(
                steps.step1, steps.step2, steps.question, steps.answer, reply.completion, calls=reply.calls
            )
        reason = reply.reason
        if reply.status == Status.UNPARSABLE:
            reason = f"{reason}: {_steps_fault(request, reply.completion)}"
        return BuildReply(completion=reply.completion, status=reply.status, reason=reason, calls=reply.calls)


def _read_steps(request: BuildRequest, text: str) -> Steps | None:
    try:
        return read_steps(text, request.question, request.answer, request.type)
    except StepsError:
        return None


def _steps_fault(request: BuildRequest, raw: str) -> str:
    last = raw.rpartition("=== reply to the repair turn ===\n")[2]
    try:
        read_steps(last, request.question, request.answer, request.type)
    except StepsError as error:
        return str(error)
    return "the reply is empty"


# A reply; the analysis comes first, so that the verdict follows from it.
CHECK_SCHEMA = object_schema(analysis=TEXT, related=BINARY, reasonable=BINARY)


class DraftVerdict(BaseModel):
    """Whether the new question is about the image, and whether its answer is right."""

    model_config = ConfigDict(frozen=True)

    related: StrictBinary
    reasonable: StrictBinary


CHECK_PLACEHOLDERS = ("question", "answer", "new_question", "new_answer")
CHECK_FORM = PromptTemplate(
    "build", "check", CHECK_PLACEHOLDERS, CHECK_SCHEMA, lambda text: clear_verdict(text, DraftVerdict, "01"), seen=True
)
# Characters that are kept of what was said before the verdict.
_REASON = 300


class QuestionValidatorPlugin(CvqaChatPlugin):
    """A question validator that is any chat model with eyes: it sees the image, both questions and both answers.

    It says of a draft whether the new question is about the image, and whether its answer is right (C-VQA, Section
    3.2).

    Templates in an own folder: check.md, check_repair.md.
    """

    def forms(self, protocol: str = "") -> tuple[PromptTemplate[DraftVerdict]]:
        """What is asked, with the image."""
        del protocol
        return (CHECK_FORM,)

    def build(self) -> QuestionValidator:
        """The question validator."""
        return ChatQuestionValidator(registry.build("chat", self.model), self.prompt(CHECK_FORM))


class ChatQuestionValidator:
    """Asks a chat model about every draft; see `cfeval.inference.prompts`."""

    def __init__(self, model: ChatModel, prompt: Prompt[DraftVerdict]) -> None:
        self.model, self.asked = model, prompt

    async def check(self, request: CheckRequest) -> CheckReply:
        """Have a draft looked at; a reply without a verdict is no review."""
        values = {
            "question": request.original.question,
            "answer": request.original.answer,
            "new_question": request.counterfactual.question,
            "new_answer": request.counterfactual.answer,
        }
        reply = await generate_parsed(self.model, self.asked, request.item, values, request.seed, request.image)
        verdict = reply.value
        if verdict is None:
            return CheckReply(completion=reply.completion, status=reply.status, reason=reply.reason, calls=reply.calls)
        reason = " ".join(reply.completion.split())[:_REASON]
        return CheckReply(verdict.related, verdict.reasonable, reason, reply.completion, calls=reply.calls)


# What a reader says of a reply that gives no answer.
NONE = "none"
ANSWER_FORMS: Mapping[Form, str] = {
    "number": "a whole number in digits",
    "boolean": "yes or no",
    "choice": "the letter of one option: A, B, C or D",
}
_VALID: Mapping[Form, re.Pattern[str]] = {
    "number": re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII),
    "boolean": re.compile(r"yes|no"),
    "choice": re.compile(r"[A-D]"),
}
_LINE = re.compile(r"[\W_]*answer[\W_]*?[:=]\s*[\W_]*(\w+)[\W_]*", re.IGNORECASE | re.ASCII)


def read_answer(text: str, form: Form) -> str | None:
    """The answer that a reader's reply names in its last line, or as JSON; `none`; or None where it names neither.

    Args:
        text: the reader's reply.
        form: what an answer to the question is.
    """
    reply = (without_thoughts(text) or "").strip()
    named = _in_json(reply)
    if named is None:
        match = _LINE.fullmatch(reply.splitlines()[-1]) if reply else None
        named = match.group(1) if match else ""
    plain = named.strip().upper() if form == "choice" else named.strip().lower()
    if plain.lower() == NONE:
        return NONE
    return plain if _VALID[form].fullmatch(plain) else None


def _in_json(text: str) -> str | None:
    """The field `answer` of a reply that is one JSON object; None where it is none."""
    try:
        content = json.loads(text)
    except ValueError:
        return None
    return str(content.get("answer", "")) if isinstance(content, dict) else None


# One conversation for each form of answer; the templates are the same.
READ_FORMS: Mapping[Form, PromptTemplate[str]] = {
    form: PromptTemplate(
        "extraction",
        "read",
        ("question", "reply", "form"),
        object_schema(analysis=TEXT, answer=TEXT),
        partial(read_answer, form=form),
        max_tokens=512,
    )
    for form in ANSWER_FORMS
}


class AnswerVerdict(BaseModel):
    """Whether a reply commits itself to an answer, and whether this is an accepted one."""

    model_config = ConfigDict(frozen=True)

    answered: StrictBinary
    correct: StrictBinary


def read_answer_verdict(text: str) -> AnswerVerdict | None:
    """The verdict on an open answer; None where a reply leaves doubt, or calls right what it says is no answer."""
    verdict = clear_verdict(text, AnswerVerdict, "01")
    return None if verdict is None or verdict.correct > verdict.answered else verdict


# The conversation about an open answer.
JUDGE_FORM = PromptTemplate(
    "extraction",
    "judge",
    ("question", "accepted", "reply"),
    object_schema(analysis=TEXT, answered=BINARY, correct=BINARY),
    read_answer_verdict,
    max_tokens=512,
)


class ReplyReaderPlugin(CvqaChatPlugin):
    """A reply reader that is any chat model: it sees a question and a reply, neither the image nor the right
    answer.

    It says which answer the reply gives, or that it gives none. What it says counts only where it has the form of
    an answer to such a question: digits, yes or no, the letter of an option. An open answer has no form: of it the
    model says whether it is one of the accepted answers, which it is then shown.

    Templates in an own folder: read.md, read_repair.md, and for open answers judge.md, judge_repair.md.
    """

    def forms(self, protocol: str = "") -> tuple[PromptTemplate[Any], ...]:
        """What may be asked of a reply: what it says, whatever the form of its answer, or whether it is right."""
        del protocol
        return READ_FORMS["number"], JUDGE_FORM

    def estimate_calls(self, protocol: str = "") -> tuple[CallEstimate, ...]:
        """One conversation a reply, open or not; both are about as long."""
        return estimate_parsed(self, self.forms(protocol)[0])

    def build(self) -> ReplyReader:
        """The reply reader, which is an answer judge too."""
        forms = {form: self.prompt(READ_FORMS[form]) for form in READ_FORMS}
        return ChatReplyReader(registry.build("chat", self.model), forms, self.prompt(JUDGE_FORM))


class ChatReplyReader:
    """Asks a chat model about every reply; see `cfeval.inference.prompts`."""

    def __init__(self, model: ChatModel, prompts: Mapping[Form, Prompt[str]], judging: Prompt[AnswerVerdict]) -> None:
        self.model, self.asked, self.judging = model, prompts, judging

    async def read(self, request: ReadRequest) -> ReadReply:
        """Have a reply read; one of whose reading nothing can be made out is `unparsable`."""
        values = {"question": request.question, "reply": request.reply, "form": ANSWER_FORMS[request.form]}
        reply = await generate_parsed(self.model, self.asked[request.form], request.item, values, request.seed)
        if reply.value is None:
            return ReadReply(None, reply.completion, reply.status, reply.reason, reply.calls)
        return ReadReply(None if reply.value == NONE else reply.value, reply.completion, Status.OK, "", reply.calls)

    async def judge(self, request: OpenAnswer) -> OpenVerdict:
        """Have an open answer judged; one on which no verdict can be made out is `unparsable`."""
        accepted = "\n".join(f"- {answer}" for answer in request.accepted)
        values = {"question": request.question, "accepted": accepted, "reply": request.reply}
        reply = await generate_parsed(self.model, self.judging, request.item, values, request.seed)
        if reply.value is None:
            return OpenVerdict(None, reply.completion, reply.status, reply.reason, reply.calls)
        correct = reply.value.correct if reply.value.answered else None
        return OpenVerdict(correct, reply.completion, Status.OK, "", reply.calls)


# Of the prompts.
PROGRAM_PROMPTS = "programs"
# The name of the template of that turn.
REPAIR = "repair"
LANGUAGES: tuple[Language, ...] = get_args(Language)
# What is put around the prompt: nothing for a chat model; the forms in which C-VQA's runners ask CodeLlama and
# WizardCoder.
INSTRUCTION_TEMPLATES = {
    "plain": "{prompt}",
    "llama": "### Instruction:\n{prompt}\n### Response:",
    "alpaca": (
        "Below is an instruction that describes a task. Write a response that appropriately completes the request.\n\n"
        "### Instruction:\n{prompt}\n\n### Response:"
    ),
}
# Why nothing was cut out of a reply.
_NO_PROGRAM: dict[Language, str] = {
    "vipergpt": "the reply holds no function execute_command",
    "visprog": "the reply holds no line of the form OUT=STEP(name=value,…)",
}


class ProgramGeneratorPlugin(plugin.Plugin):
    """A program writer that is any chat model: it is told what a language offers, and the program is cut from its
    reply.

    A reply without a program is `unparsable`, and a program that does not run is a result; whether the model is
    then asked to repair it, in the same conversation, is up to the solver. What a model says is never run here.
    """

    model: dict[str, Any] = plugin.component("chat")
    """The chat model: its plugin and options."""
    prompts: str = ""
    """Folder with own templates: vipergpt.md and visprog.md, which name {question}, and, if it
    likes, repair.md, which names {fault}; empty: the package's."""
    template: Literal["plain", "llama", "alpaca"] = "plain"
    """The form of the instruction; see `TEMPLATES`."""
    max_tokens: int | None = Field(512, ge=1)
    """The longest program without thoughts (C-VQA: 512, WizardCoder 256); none: the model's own limit."""

    def texts_only(self) -> tuple[Component, ...]:
        """The chat model."""
        return self.components()

    def dependencies(self) -> tuple[str, ...]:
        """The templates."""
        return tuple(str(self.file(name)) for name in (*LANGUAGES, REPAIR))

    def diagnose(self) -> Iterator[Diagnostic]:
        """Templates that cannot be filled."""
        for name in (*LANGUAGES, REPAIR):
            try:
                fill(self.prompt(name), **({"fault": ""} if name == REPAIR else {"question": ""}))
            except InputError as error:
                yield Diagnostic(False, f"{self.file(name)}: {error}")

    def estimate_calls(self) -> tuple[CallEstimate, ...]:
        """One a request, with the longer of the prompts."""
        longest = max(len(self.prompt(language)) for language in LANGUAGES)
        model = registry.estimate_calls("chat", self.model)
        return tuple(replace(call, prompt=longest, max_tokens=self.max_tokens or call.max_tokens) for call in model)

    def build(self) -> ProgramGenerator:
        """The program writer."""
        return ChatProgramGenerator(registry.build("chat", self.model), self)

    def prompt(self, name: str) -> str:
        """What a model is told of a language, or of a program that failed."""
        return load_prompt(name, protocol=PROGRAM_PROMPTS, study="cvqa", folder=self._folder(name))

    def file(self, name: str) -> Path:
        """Where that stands."""
        return prompt_file(name, protocol=PROGRAM_PROMPTS, study="cvqa", folder=self._folder(name))

    def _folder(self, name: str) -> Path | None:
        """The user's own folder, but for a repair turn that it does not word."""
        own = Path(self.prompts) if self.prompts else None
        return None if own and name == REPAIR and not (own / f"{REPAIR}.md").is_file() else own


class ChatProgramGenerator:
    """Asks a chat model, each request in a conversation of its own."""

    def __init__(self, model: ChatModel, options: ProgramGeneratorPlugin) -> None:
        self._model, self._options = model, options
        self._prompt = cache(options.prompt)

    async def write(self, request: ProgramRequest) -> ProgramReply:
        """Have a program written for a request."""
        prompt = fill(self._prompt(request.language), question=request.question)
        turns = [ChatMessage("user", INSTRUCTION_TEMPLATES[self._options.template].replace("{prompt}", prompt))]
        if request.failed:
            repair = fill(self._prompt(REPAIR), fault=request.failed.fault)
            turns += [ChatMessage("assistant", request.failed.completion), ChatMessage("user", repair)]
        seed = derive_seed(request.seed, "program", request.language)
        reply = await self._model.generate(
            ChatRequest(request.item, tuple(turns), seed, max_tokens=self._options.max_tokens)
        )
        raw = ProgramReply("", reply.text, reply.model, reply.status, reply.reason, reply.calls)
        if reply.status != Status.OK:
            return raw
        code = cut_program(reply.text, request.language)
        if not code:
            return replace(raw, status=Status.UNPARSABLE, reason=_NO_PROGRAM[request.language])
        return replace(raw, code=code)
