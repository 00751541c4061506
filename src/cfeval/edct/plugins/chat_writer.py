"""A writer that is any chat model: it reads the three texts and writes the instructions of the protocol.

For `uncited-edit` it is shown the image too, because what the explanation leaves out stands nowhere in the texts.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import ClassVar, NamedTuple

from cfeval.core import registry
from cfeval.core.errors import PluginError, nearest
from cfeval.edct.echoes import Parts, echo
from cfeval.edct.interfaces import Edit, Writer, WriteReply, WriteRequest
from cfeval.edct.protocols import controls, edct_2025, edct_bench_2026
from cfeval.edct.protocols.rules import EDCT_2025, EDCT_BENCH_2026, UNCITED_EDIT, listed
from cfeval.inference import prompts
from cfeval.inference.chat import ChatModel
from cfeval.inference.prompts import PromptTemplate, generate_parsed


class Written(NamedTuple):
    """What a reply says: the edits, and where the model was shown the image what is cited and what of it is absent.

    `parts` are those of the edits, as the form asks for them.
    """

    edits: tuple[Edit, ...]
    cited: tuple[str, ...] | None = None
    absent: tuple[str, ...] = ()
    implied_blank: str = ""
    parts: tuple[Parts, ...] = ()


REMOVALS = """

# What the editor can do

The editor can only take things away. Whatever is said above of other changes: each instruction removes one thing from
the image, and its positive part begins with the word Remove."""
PLACEHOLDERS = ("question", "original_answer", "original_explanation", "edits")


class Plugin(prompts.ChatPlugin):
    """Which model, and how it is asked.

    Templates in an own folder: write.md, write_repair.md; for uncited-edit uncited.md, uncited_repair.md.
    """

    by_protocol: ClassVar[bool] = True

    removals: bool = False
    """Whether only removals are asked for, which is all that the editor `inpaint` can do."""

    def forms(self, protocol: str = "") -> tuple[PromptTemplate[Written], ...]:
        """What is asked; nothing where nothing is written. The number of edits changes no template."""
        return (self.form(protocol, listed(protocol, 1)),) if protocol in FORMS else ()

    def form(self, protocol: str, edits: int) -> PromptTemplate[Written]:
        """What is asked under a protocol."""
        form = FORMS[protocol](edits)
        return replace(form, arrange=lambda text: text + REMOVALS) if self.removals else form

    def build(self) -> Writer:
        """The writer."""
        return Chat(registry.build("chat", self.model), self)


class Chat:
    """Asks a chat model; see `cfeval.inference.prompts`."""

    def __init__(self, model: ChatModel, options: Plugin) -> None:
        self.model = model
        self.options = options
        self._prompt = cache(lambda protocol, edits: options.prompt(options.form(protocol, edits)))

    async def write(self, request: WriteRequest) -> WriteReply:
        """Have the instructions of a request written.

        Raises:
            PluginError: the request is of a protocol that has nothing to write, or lacks the image that it is about.
        """
        if request.protocol not in FORMS:
            advice = nearest(request.protocol, FORMS)
            raise PluginError(f"writer chat: no instructions are written under protocol '{request.protocol}'; {advice}")
        if FORMS[request.protocol](request.edits).seen and request.image is None:
            raise PluginError(
                f"writer chat: item '{request.item}': {request.protocol} needs the image, and there is none"
            )
        values = {
            "question": request.question,
            "original_answer": request.answer,
            "original_explanation": request.explanation,
            "edits": str(request.edits),
        }
        prompt = self._prompt(request.protocol, request.edits)

        def fault(written: Written) -> str:
            templates = (prompt.opening, prompt.repair)
            faults = (echo(parts, templates, request.answer, request.explanation) for parts in written.parts)
            return next(filter(None, faults), "")

        reply = await generate_parsed(self.model, prompt, request.item, values, request.seed, request.image, fault)
        content = reply.value or Written(())
        return WriteReply(
            content.edits,
            reply.completion,
            reply.status,
            reply.reason,
            reply.calls,
            content.cited,
            content.absent,
            content.implied_blank,
            # Nobody knows whether an own prompt asks for all.
            lists_all=request.protocol != EDCT_BENCH_2026 and not self.options.is_own(prompt.form),
        )


def _written(
    edits: list[Edit], cited: tuple[str, ...] | None = None, absent: tuple[str, ...] = (), implied_blank: str = ""
) -> Written:
    parts = (Parts(edit.concept, (edit.positive,), edit.negative) for edit in edits)
    return Written(tuple(edits), cited, absent, implied_blank, tuple(parts))


def _cited(edits: int) -> PromptTemplate[Written]:
    def read(text: str) -> Written | None:
        listing = edct_2025.read_instructions(text, edits)
        if listing is None:
            return None
        if isinstance(listing, edct_2025.Parts):
            return _written([Edit("", listing.positive, listing.negative)])
        cited = [Edit(edit.concept, edit.positive, edit.negative, implied=edit.implied) for edit in listing.edits]
        return _written(cited, implied_blank=listing.blank)

    return PromptTemplate(EDCT_2025, "write", PLACEHOLDERS, edct_2025.write_schema(edits), read)


def _chain(edits: int) -> PromptTemplate[Written]:
    def read(text: str) -> Written | None:
        chain = edct_bench_2026.read_chain(text, edits)
        if chain is None:
            return None
        edited = tuple(Edit(edit.concept, edit.positive, edit.negative) for edit in chain.edits)
        parts = (Parts(edit.concept, (edit.change, edit.how, edit.keep), edit.constraints) for edit in chain.edits)
        return Written(edited, parts=tuple(parts))

    schema, limit = edct_bench_2026.write_schema(edits), edct_bench_2026.MAX_TOKENS
    return PromptTemplate(EDCT_BENCH_2026, "write", PLACEHOLDERS, schema, read, limit)


def _uncited_edits(edits: int) -> PromptTemplate[Written]:
    def read(text: str) -> Written | None:
        listing = controls.read_uncited_edits(text, edits)
        if listing is None:
            return None
        absent = tuple(thing.cited for thing in listing.cited if thing.seen == "no")
        cited = tuple(thing.cited for thing in listing.cited) or None
        return _written([Edit(**edit.model_dump()) for edit in listing.edits], cited, absent)

    schema = controls.uncited_schema(edits)
    return PromptTemplate("controls", "uncited", PLACEHOLDERS, schema, read, seen=True)


# By protocol, for at most so many edits.
FORMS: Mapping[str, Callable[[int], PromptTemplate[Written]]] = {
    EDCT_2025: _cited,
    EDCT_BENCH_2026: _chain,
    UNCITED_EDIT: _uncited_edits,
}
