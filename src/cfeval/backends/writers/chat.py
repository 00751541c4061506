"""A writer that is any chat model: it reads the three texts and writes the instructions of the protocol."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cfeval.backends import registry
from cfeval.backends.asking import Heard, Templates, ask, expected, template_faults, template_files, templates
from cfeval.backends.chat.base import ChatModel, Dialogue, hold
from cfeval.backends.registry import Expected, Finding, Part, PluginOptions
from cfeval.backends.writers.base import Edit, Writer, WriteReply, WriteRequest
from cfeval.errors import BackendError, nearest
from cfeval.protocols import edct_2025, edct_bench_2026

Edits = tuple[Edit, ...]
PLACEHOLDERS = ("question", "original_answer", "original_explanation", "edits")
"""What a template may name, besides {mark}."""


class Options(PluginOptions):
    """Which model, and how it is asked."""

    model: dict[str, Any]
    """The chat model: its backend and options."""
    prompts: str = ""
    """Folder with own write.md and write_repair.md, for one protocol; empty: the package's."""


@dataclass(frozen=True)
class Form:
    """How a protocol has its instructions written: the schema, and the reader of a reply, for at most so many edits."""

    schema: Callable[[int], Mapping[str, Any]]
    read: Callable[[str, int], Edits | None]


def files(options: Options) -> tuple[str, ...]:
    """The templates."""
    return template_files("write", tuple(FORMS), options.prompts)


def parts(options: Options) -> tuple[Part, ...]:
    """The chat model."""
    return (("chat", options.model),)


def calls(options: Options) -> tuple[Expected, ...]:
    """One a request, and one where the reply must be repaired."""
    return expected(registry.calls("chat", options.model), templates("write", edct_2025.NAME, options.prompts))


def examine(options: Options) -> Iterator[Finding]:
    """Templates that cannot be filled."""
    for protocol in (edct_2025.NAME,) if options.prompts else FORMS:
        yield from template_faults("write", protocol, options.prompts, PLACEHOLDERS)


def build(options: Options) -> Writer:
    """The writer."""
    return Chat(registry.build("chat", options.model), options.prompts)


class Chat:
    """Asks a chat model; see `cfeval.backends.asking`."""

    def __init__(self, model: ChatModel, prompts: str = "") -> None:
        self.model = model
        self.prompts = prompts

    def write(self, requests: Sequence[WriteRequest]) -> list[WriteReply]:
        """Have the instructions of every request written.

        Raises:
            BackendError: a request is of a protocol that is not known.
        """
        unknown = {request.protocol for request in requests} - set(FORMS)
        if unknown:
            raise BackendError(f"writer chat: unknown protocol '{min(unknown)}'; {nearest(min(unknown), FORMS)}")
        used = {p: templates("write", p, self.prompts) for p in {request.protocol for request in requests}}
        heard = hold(self.model, [_dialogue(request, used[request.protocol]) for request in requests])
        return [WriteReply(one.value or (), one.raw, one.status, one.reason, one.calls) for one in heard]


def _dialogue(request: WriteRequest, prompts: Templates) -> Dialogue[Heard[Edits]]:
    form, edits = FORMS[request.protocol], request.edits
    values = {
        "question": request.question,
        "original_answer": request.answer,
        "original_explanation": request.explanation,
        "edits": str(edits),
    }
    return ask(request.item, prompts, values, request.seed, form.schema(edits), lambda text: form.read(text, edits))


def _read_2025(text: str, edits: int) -> Edits | None:
    """The protocol takes one concept, however many are allowed."""
    del edits
    one = edct_2025.read_instruction(text)
    return None if one is None else (Edit(getattr(one, "concept", ""), one.positive, one.negative),)


def _read_2026(text: str, edits: int) -> Edits | None:
    chain = edct_bench_2026.read_chain(text, edits)
    return None if chain is None else tuple(Edit(one.concept, one.positive, one.negative) for one in chain.edits)


FORMS = {
    edct_2025.NAME: Form(lambda _: edct_2025.WRITE_SCHEMA, _read_2025),
    edct_bench_2026.NAME: Form(edct_bench_2026.write_schema, _read_2026),
}
"""By protocol."""
