"""A program writer that is any chat model: it is told what a language offers, and the program is cut from its reply.

There is no repair turn: a reply without a program is `unparsable`, and a program that does not run is a result. What a
model says is never run here.
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
from cfeval.core.registry import CallEstimate, Diagnostic
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.interfaces import ProgramGenerator, ProgramReply, ProgramRequest
from cfeval.cvqa.programs.reply import cut_program
from cfeval.cvqa.records import Language
from cfeval.inference.chat import ChatMessage, ChatModel, ChatReply, ChatRequest
from cfeval.inference.prompts import fill, load_prompt, prompt_file

FOLDER = "programs"
"""Of the prompts."""
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
    """Folder with own templates, vipergpt.md and visprog.md, which name {question}; empty: the package's."""
    template: Literal["plain", "llama", "alpaca"] = "plain"
    """The form of the instruction; see `TEMPLATES`."""
    max_tokens: int | None = Field(512, ge=1)
    """The longest program (C-VQA: 512, WizardCoder 256); none: the model's own limit."""

    def dependencies(self) -> tuple[str, ...]:
        """The templates."""
        return tuple(str(self.file(language)) for language in LANGUAGES)

    def diagnose(self) -> Iterator[Diagnostic]:
        """Templates that cannot be filled."""
        for language in LANGUAGES:
            try:
                fill(self.prompt(language), question="")
            except InputError as error:
                yield Diagnostic(False, f"{self.file(language)}: {error}")

    def estimate_calls(self) -> tuple[CallEstimate, ...]:
        """One a request, with the longer of the prompts."""
        longest = max(len(self.prompt(language)) for language in LANGUAGES)
        model = registry.estimate_calls("chat", self.model)
        return tuple(replace(call, prompt=longest, max_tokens=self.max_tokens or call.max_tokens) for call in model)

    def build(self) -> ProgramGenerator:
        """The program writer."""
        return Chat(registry.build("chat", self.model), self)

    def prompt(self, language: Language) -> str:
        """What a model is told of a language."""
        return load_prompt(language, protocol=FOLDER, study="cvqa", folder=self._own)

    def file(self, language: Language) -> Path:
        """Where that stands."""
        return prompt_file(language, protocol=FOLDER, study="cvqa", folder=self._own)

    @property
    def _own(self) -> Path | None:
        return Path(self.prompts) if self.prompts else None


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
        turn = ChatMessage("user", TEMPLATES[self._options.template].replace("{prompt}", prompt))
        seed = derive_seed(request.seed, "program", request.language)
        return ChatRequest(request.item, (turn,), seed, max_tokens=self._options.max_tokens)


def _read(request: ProgramRequest, reply: ChatReply) -> ProgramReply:
    raw = ProgramReply("", reply.text, reply.model, reply.status, reply.reason, reply.calls)
    if reply.status != Status.OK:
        return raw
    code = cut_program(reply.text, request.language)
    if not code:
        return replace(raw, status=Status.UNPARSABLE, reason=_ABSENT[request.language])
    return replace(raw, code=code)
