"""A program writer that is any chat model: it is told what a language offers, and the program is cut from its reply.

There is no repair turn: a reply without a program is `unparsable`, and a program that does not run is a result.

From what a model says to the program in it (C-VQA's runners; ViperGPT, VisProg). What it says is never run here.

Kept of the runners: the text behind `### Response:`, fences taken away, an end at a second function and at `Query:`.
Not kept: WizardCoder's end at the first `#`, which loses all that follows a comment.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate, Component, Diagnostic
from cfeval.core.sampling import derive
from cfeval.cvqa.interfaces import Programmer, ProgramReply, ProgramRequest
from cfeval.cvqa.records import Language
from cfeval.inference.chat import ChatModel, ChatReply, ChatRequest, Turn, hold, one_request
from cfeval.inference.prompts import AskingOptions, fill, load_prompt, model_of, prompt_file

_RESPONSE = "### Response:"
_FENCE = re.compile(r"^[ \t]*```[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_FUNCTION = re.compile(r"^def execute_command\b", re.MULTILINE)
_STEP = re.compile(r"[A-Za-z_]\w*\s*=\s*[A-Z][A-Z_]*\s*\(.*\)")
_ABSENT = {
    "vipergpt": "the reply holds no function execute_command",
    "visprog": "the reply holds no line of the form OUT=STEP(name=value,…)",
}


def cut_program(text: str, language: Language) -> str:
    """The program in a reply, empty where there is none."""
    said = text.rpartition(_RESPONSE)[2]
    cut = _function if language == "vipergpt" else _steps
    fenced = (cut(block) for block in _FENCE.findall(said))
    return next(filter(None, fenced), "") or cut(said)


def absence(language: Language) -> str:
    """Why nothing was cut out of a reply, in one line."""
    return _ABSENT[language]


def _function(text: str) -> str:
    """The first function of the right name, to its last indented line."""
    found = _FUNCTION.search(text)
    if found is None:
        return ""
    first, *rest = text[found.start() :].splitlines()
    return "\n".join([first, *_body(rest)]).rstrip()


def _body(lines: Iterable[str]) -> Iterator[str]:
    """The lines behind `def`, until one begins at the margin: another function, `Query:`, prose, a fence."""
    open_ = True
    for line in lines:
        margin = line[:1] not in ("", " ", "\t")
        if (margin and not (open_ and line[0] == ")")) or line.strip().startswith("Query:"):
            return
        open_ = open_ and not line.rstrip().endswith(":")
        yield line


def _steps(text: str) -> str:
    """The first run of steps; blank lines in it are left out."""
    kept: list[str] = []
    for line in text.splitlines():
        bare = line.strip().removeprefix("Program:").strip()
        if _STEP.fullmatch(bare):
            kept.append(bare)
        elif bare and kept:
            break
    return "\n".join(kept)


LANGUAGES: tuple[Language, ...] = get_args(Language)
TEMPLATES = {
    "plain": "{prompt}",
    "llama": "### Instruction:\n{prompt}\n### Response:",
    "alpaca": (
        "Below is an instruction that describes a task. Write a response that appropriately completes the request.\n\n"
        "### Instruction:\n{prompt}\n\n### Response:"
    ),
}
"""What is put around the prompt: nothing for a chat model; the forms in which C-VQA's runners ask CodeLlama and
WizardCoder."""


class Options(AskingOptions):
    """Which model, and how it is asked. Templates in an own folder: vipergpt.md, visprog.md, which name {question}."""

    template: Literal["plain", "llama", "alpaca"] = "plain"
    """The form of the instruction; see `TEMPLATES`."""
    max_tokens: int | None = Field(512, ge=1)
    """The longest program (C-VQA: 512, WizardCoder 256); none: the model's own limit."""


def files(options: Options) -> tuple[str, ...]:
    """The templates."""
    return tuple(str(_file(options, language)) for language in LANGUAGES)


def parts(options: Options) -> tuple[Component, ...]:
    """The chat model."""
    return model_of(options)


def examine(options: Options) -> Iterator[Diagnostic]:
    """Templates that cannot be filled."""
    for language in LANGUAGES:
        try:
            fill(_template(options, language), question="")
        except InputError as error:
            yield Diagnostic(False, f"{_file(options, language)}: {error}")


def calls(options: Options) -> tuple[CallEstimate, ...]:
    """One a request, with the longer of the prompts."""
    prompt = max(len(_template(options, language)) for language in LANGUAGES)
    model = registry.estimate_calls("chat", options.model)
    return tuple(replace(call, prompt=prompt, max_tokens=options.max_tokens or call.max_tokens) for call in model)


def build(options: Options) -> Programmer:
    """The program writer."""
    return Chat(registry.build("chat", options.model), options)


class Chat:
    """Asks a chat model, each request in a conversation of its own."""

    def __init__(self, model: ChatModel, options: Options) -> None:
        self._model, self._options = model, options

    def write(self, requests: Sequence[ProgramRequest]) -> list[ProgramReply]:
        """Have a program written for every request."""
        wanted = dict.fromkeys(request.language for request in requests)
        templates = {language: _template(self._options, language) for language in wanted}
        asked = [self._asked(request, templates[request.language]) for request in requests]
        replies = hold(self._model, [one_request(request) for request in asked])
        return [_read(request, reply) for request, reply in zip(requests, replies, strict=True)]

    def _asked(self, request: ProgramRequest, template: str) -> ChatRequest:
        prompt = fill(template, question=request.question)
        turn = Turn("user", TEMPLATES[self._options.template].replace("{prompt}", prompt))
        seed = derive(request.seed, "program", request.language)
        return ChatRequest(request.item, (turn,), seed, max_tokens=self._options.max_tokens)


def _read(request: ProgramRequest, reply: ChatReply) -> ProgramReply:
    raw = ProgramReply("", reply.text, reply.model, reply.status, reply.reason, reply.calls)
    if reply.status != Status.OK:
        return raw
    code = cut_program(reply.text, request.language)
    if not code:
        return replace(raw, status=Status.UNPARSABLE, reason=absence(request.language))
    return replace(raw, code=code)


def _file(options: Options, language: Language) -> Path:
    return prompt_file(language, protocol="programs", study="cvqa", folder=_own(options))


def _template(options: Options, language: Language) -> str:
    return load_prompt(language, protocol="programs", study="cvqa", folder=_own(options))


def _own(options: Options) -> Path | None:
    return Path(options.prompts) if options.prompts else None
