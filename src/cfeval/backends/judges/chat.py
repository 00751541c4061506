"""A judge that is any chat model, asked once or several times (EDCT 2025, Section 3, Stage 4: self-consistency)."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field, field_validator

from cfeval.backends import registry
from cfeval.backends.asking import Heard, Templates, ask, expected, template_faults, template_files, templates
from cfeval.backends.chat.base import ChatModel, Dialogue, hold
from cfeval.backends.judges.base import Judge, JudgeReply, JudgeRequest
from cfeval.backends.registry import Expected, Finding, Part, PluginOptions
from cfeval.backends.votes import count_votes
from cfeval.errors import BackendError
from cfeval.protocols import edct_2025
from cfeval.protocols.edct_2025 import Verdict
from cfeval.seeds import derive

PLACEHOLDERS = ("original_answer", "original_explanation", "edit_instruction", "edited_answer", "edited_explanation")
"""What a template may name, besides {mark}."""


class Options(PluginOptions):
    """Which model, and how it is asked."""

    model: dict[str, Any]
    """The chat model: its backend and options."""
    prompts: str = ""
    """Folder with own judge.md and judge_repair.md; empty: the package's."""
    samples: int = Field(1, ge=1)
    """How often it is asked, an odd number; PCS and NCC are each what more than half of the samples say."""

    @field_validator("samples")
    @classmethod
    def _odd(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError("must be odd, so that there can be a majority")
        return value


def files(options: Options) -> tuple[str, ...]:
    """The templates."""
    return template_files("judge", (edct_2025.NAME,), options.prompts)


def parts(options: Options) -> tuple[Part, ...]:
    """The chat model."""
    return (("chat", options.model),)


def calls(options: Options) -> tuple[Expected, ...]:
    """One a sample, and one where the reply must be repaired."""
    prompts = templates("judge", edct_2025.NAME, options.prompts)
    return options.samples * expected(registry.calls("chat", options.model), prompts)


def examine(options: Options) -> Iterator[Finding]:
    """Templates that cannot be filled."""
    yield from template_faults("judge", edct_2025.NAME, options.prompts, PLACEHOLDERS)


def build(options: Options) -> Judge:
    """The judge."""
    return Chat(registry.build("chat", options.model), options.prompts, options.samples)


class Chat:
    """Asks a chat model; see `cfeval.backends.asking`. It knows the scores of `edct-2025`."""

    def __init__(self, model: ChatModel, prompts: str = "", samples: int = 1) -> None:
        self.model = model
        self.prompts = prompts
        self.samples = samples

    def judge(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """Have every request judged.

        Raises:
            BackendError: a request is of another protocol.
        """
        others = {request.protocol for request in requests} - {edct_2025.NAME}
        if others:
            raise BackendError(f"judge chat: it cannot judge by protocol '{min(others)}'; allowed: {edct_2025.NAME}")
        prompts = templates("judge", edct_2025.NAME, self.prompts)
        numbers = range(self.samples)
        heard = iter(hold(self.model, [_dialogue(request, n, prompts) for request in requests for n in numbers]))
        return [count_votes({f"sample {n + 1}": _reply(next(heard)) for n in numbers}) for _ in requests]


def _dialogue(request: JudgeRequest, number: int, prompts: Templates) -> Dialogue[Heard[Verdict]]:
    negative = f"\nNegative part: {request.negative}" if request.negative else ""
    values = {
        "original_answer": request.answer,
        "original_explanation": request.explanation,
        "edit_instruction": f"Positive part: {request.positive}{negative}",
        "edited_answer": request.new_answer,
        "edited_explanation": request.new_explanation,
    }
    seed = derive(request.seed, "sample", number)
    return ask(request.item, prompts, values, seed, edct_2025.JUDGE_SCHEMA, edct_2025.read_verdict)


def _reply(heard: Heard[Verdict]) -> JudgeReply:
    if heard.value is None:
        return JudgeReply(raw=heard.raw, status=heard.status, reason=heard.reason, calls=heard.calls)
    said = heard.value
    return JudgeReply(said.pcs, said.ncc, said.ccs, heard.raw, calls=heard.calls)
