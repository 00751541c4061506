"""A program writer that is any chat model: it is told what a language offers, and the program is cut from its reply.

A reply without a program is `unparsable`, and a program that does not run is a result; whether the model is then asked
to repair it, in the same conversation, is up to the solver. What a model says is never run here.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field

from cfeval.core import plugin, registry
from cfeval.core.errors import InputError
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate, Component, Diagnostic
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.interfaces import ProgramGenerator, ProgramReply, ProgramRequest
from cfeval.cvqa.programs.reply import cut_program
from cfeval.cvqa.records import Language
from cfeval.inference.chat import ChatMessage, ChatModel, ChatReply, ChatRequest
from cfeval.inference.prompts import fill, load_prompt, prompt_file

FOLDER = "programs"
"""Of the prompts."""
REPAIR = "repair"
"""The name of the template of that turn."""
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
_ABSENT: dict[Language, str] = {
    "vipergpt": "the reply holds no function execute_command",
    "visprog": "the reply holds no line of the form OUT=STEP(name=value,…)",
}
"""Why nothing was cut out of a reply."""


class Plugin(plugin.Plugin):
    """Which model, and how it is asked."""

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
        return Chat(registry.build("chat", self.model), self)

    def prompt(self, name: str) -> str:
        """What a model is told of a language, or of a program that failed."""
        return load_prompt(name, protocol=FOLDER, study="cvqa", folder=self._folder(name))

    def file(self, name: str) -> Path:
        """Where that stands."""
        return prompt_file(name, protocol=FOLDER, study="cvqa", folder=self._folder(name))

    def _folder(self, name: str) -> Path | None:
        """The user's own folder, but for a repair turn that it does not word."""
        own = Path(self.prompts) if self.prompts else None
        return None if own and name == REPAIR and not (own / f"{REPAIR}.md").is_file() else own


class Chat:
    """Asks a chat model, each request in a conversation of its own."""

    def __init__(self, model: ChatModel, options: Plugin) -> None:
        self._model, self._options = model, options
        self._prompt = cache(options.prompt)

    async def write(self, request: ProgramRequest) -> ProgramReply:
        """Have a program written for a request."""
        return _read(request, await self._model.generate(self._asked(request)))

    def _asked(self, request: ProgramRequest) -> ChatRequest:
        prompt = fill(self._prompt(request.language), question=request.question)
        turns = [ChatMessage("user", TEMPLATES[self._options.template].replace("{prompt}", prompt))]
        if request.failed:
            told = fill(self._prompt(REPAIR), fault=request.failed.fault)
            turns += [ChatMessage("assistant", request.failed.completion), ChatMessage("user", told)]
        seed = derive_seed(request.seed, "program", request.language)
        return ChatRequest(request.item, tuple(turns), seed, max_tokens=self._options.max_tokens)


def _read(request: ProgramRequest, reply: ChatReply) -> ProgramReply:
    raw = ProgramReply("", reply.text, reply.model, reply.status, reply.reason, reply.calls)
    if reply.status != Status.OK:
        return raw
    code = cut_program(reply.text, request.language)
    if not code:
        return replace(raw, status=Status.UNPARSABLE, reason=_ABSENT[request.language])
    return replace(raw, code=code)
