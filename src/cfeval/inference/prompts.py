"""How a chat model is asked: one turn, and one repair turn where the reply cannot be read.

Prompt templates are Markdown files with named placeholders, `{question}`, in the package or in a folder of the user's.
"""

import hashlib
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Generic, TypeVar

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.core.images import Image
from cfeval.core.plugin import Plugin, component
from cfeval.core.record import uses
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate, Component, Diagnostic
from cfeval.core.sampling import derive_seed
from cfeval.inference.chat import ChatMessage, ChatModel, ChatReply, ChatRequest

T = TypeVar("T")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class PromptTemplate(Generic[T]):
    """A question that a protocol has: its two templates, what they are filled with, and how a reply is bound and read.

    The templates are `name` and `name`_repair in a folder of the package; where the first has variants, `opening` is
    the name of the one that is used. `schema` is the JSON schema of the reply, for a server that enforces it; `read`
    says what a reply's text says, None where it cannot be read. `max_tokens` is the protocol's limit, None where it has
    none; `seen` says that an image is shown with the opening; `arrange` is done to the opening before it is filled.
    """

    folder: str
    name: str
    placeholders: tuple[str, ...]
    schema: Mapping[str, Any]
    read: Callable[[str], T | None]
    max_tokens: int | None = None
    seen: bool = False
    arrange: Callable[[str], str] = str
    opening: str = ""

    @property
    def templates(self) -> tuple[str, str]:
        """Their names."""
        return self.opening or self.name, f"{self.name}_repair"


@dataclass(frozen=True)
class Prompt(Generic[T]):
    """A form with its templates, ready to be asked; `max_tokens` is None where the model's own limit holds."""

    form: PromptTemplate[T]
    opening: str
    repair: str
    max_tokens: int | None = None


@dataclass(frozen=True)
class ParsedReply(Generic[T]):
    """What was read in the reply, or the status and reason why nothing was; `completion` is what came, as it came."""

    value: T | None
    completion: str
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


def prompt_file(name: str, *, protocol: str, study: str = "edct", folder: Path | None = None) -> Path:
    """The file of the template `name` of a protocol, in the package or in a folder of the user's own."""
    shipped = Path(str(resources.files("cfeval"))) / study / "prompts" / protocol
    return (folder if folder is not None else shipped) / f"{name}.md"


def load_prompt(name: str, *, protocol: str, study: str = "edct", folder: Path | None = None) -> str:
    """The template `name` of a protocol, from the package or from a folder of the user's own.

    Raises:
        InputError: there is no such template, it is not text, or it is empty.
    """
    where = f"{name}.md in {folder if folder is not None else f'the protocol {protocol}'}"
    file = prompt_file(name, protocol=protocol, study=study, folder=folder)
    uses(file)
    try:
        text = file.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError:
        raise InputError(f"the prompt {where} is not UTF-8 text; save it as UTF-8") from None
    except OSError:
        raise InputError(f"no prompt {where}") from None
    if not text:
        raise InputError(f"the prompt {where} is empty; write it, or leave the folder out for the package's")
    return text


def fill(template: str, **values: str) -> str:
    """Put values into a template in one pass, so that braces inside a value are left alone.

    Raises:
        InputError: the template names a placeholder that has no value.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            begins = " ".join(template[:40].split())
            allowed = ", ".join(sorted(values))
            raise InputError(f"the prompt that begins {begins!r} names {{{match[1]}}}; it may name {allowed}")
        return values[match[1]]

    return _PLACEHOLDER.sub(value, template)


def fill_marked(template: str, **values: str) -> str:
    """Like `fill`, with one value more: `{mark}`, eight hexadecimal digits that occur in none of the values.

    A template that ends its delimiters in {mark} holds texts that no text can break out of. The same values have the
    same mark.
    """
    texts = [value.lower() for value in values.values()]
    mark = _digest("\x1f".join(texts))
    while any(mark in text for text in texts):
        mark = _digest(mark)
    return fill(template, mark=mark, **values)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]


def prompt(form: PromptTemplate[T], folder: str = "", max_tokens: int | None = None) -> Prompt[T]:
    """Load the templates of a form.

    Args:
        form: what is asked.
        folder: own templates, or a folder of them for each protocol; empty: the package's.
        max_tokens: the longest reply; None leaves it to the model.

    Raises:
        InputError: a template is missing, empty, or cannot be arranged.
    """
    opening, repair = (_template(folder, form, name) for name in form.templates)
    return Prompt(form, opening, repair, max_tokens)


async def generate_parsed(
    model: ChatModel,
    question: Prompt[T],
    item: str,
    values: Mapping[str, str],
    seed: int,
    image: Image | None = None,
    fault: Callable[[T], str] | None = None,
) -> ParsedReply[T]:
    """Ask a model, and ask once more in the same conversation where the reply cannot be read or is only an echo.

    Args:
        model: who is asked.
        question: the question.
        item: the sample's id.
        values: what is filled into both templates.
        seed: of this conversation; each turn derives its own.
        image: what is shown, where the form has an image.
        fault: says what of the request a reply only gives back, to go on with after `the reply`; empty: nothing.
    """
    form = question.form
    opening = ChatMessage("user", fill_marked(question.opening, **values), image if form.seen else None)
    repair = ChatMessage("user", fill_marked(question.repair, **values))
    request = ChatRequest(item, (opening,), derive_seed(seed, "reply"), form.schema, question.max_tokens)
    first = await model.generate(request)
    value = form.read(first.text) if first.status == Status.OK else None
    echoed = fault(value) if fault and value is not None else ""
    if (value is not None and not echoed) or first.status != Status.OK or not first.text.strip():
        return _parsed(value, first)
    if echoed:
        repair = replace(repair, text=f"Your reply {echoed}. Write an instruction of your own.\n\n{repair.text}")
    turns = (opening, ChatMessage("assistant", first.text), repair)
    second = await model.generate(replace(request, turns=turns, seed=derive_seed(seed, "repair")))
    value = form.read(second.text) if second.status == Status.OK else None
    if value is not None and fault and (echoed := fault(value)):
        unread: ParsedReply[T] = _parsed(None, first, second)
        return replace(unread, status=Status.ECHO, reason=f"the reply to the repair turn {echoed}")
    return _parsed(value, first, second)


def named_texts(texts: Mapping[str, str]) -> str:
    """Several replies in one text, each under its name; a single one is left as it is."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "\n\n".join(f"=== {name} ===\n{text}" for name, text in texts.items())


def last_text(named: str) -> str:
    """The last of several replies that `named_texts` has put into one text."""
    return named.rpartition(" ===\n")[2]


def _own(folder: str, form: PromptTemplate[Any]) -> Path | None:
    """The user's own folder for a form, None for the package's."""
    if not folder:
        return None
    inner = Path(folder) / form.folder
    return inner if inner.is_dir() else Path(folder)


def _file(folder: str, form: PromptTemplate[Any], name: str) -> Path:
    return prompt_file(name, protocol=form.folder, folder=_own(folder, form))


def _template(folder: str, form: PromptTemplate[Any], name: str) -> str:
    if folder:  # where the protocol has a folder of its own in the user's, that counts
        uses(Path(folder) / form.folder / f"{name}.md")
    text = load_prompt(name, protocol=form.folder, folder=_own(folder, form))
    return form.arrange(text) if name == form.templates[0] else text


def _parsed(value: T | None, *replies: ChatReply) -> ParsedReply[T]:
    last = replies[-1]
    names = ("reply", "reply to the repair turn")
    raw = named_texts({name: reply.text for name, reply in zip(names, replies, strict=False)})
    calls = tuple(call for reply in replies for call in reply.calls)
    if value is not None:
        return ParsedReply(value, raw, calls=calls)
    if last.status != Status.OK:
        return ParsedReply(None, raw, last.status, last.reason, calls)
    fault = "neither the reply nor the one to the repair turn has the form that was asked for"
    return ParsedReply(None, raw, Status.UNPARSABLE, "the reply is empty" if len(replies) == 1 else fault, calls)


def estimate_parsed(plugin: "ChatPlugin", *forms: PromptTemplate[Any]) -> tuple[CallEstimate, ...]:
    """The calls of `generate_parsed`, for every form, from those that the chat model makes for one request."""
    estimates: list[CallEstimate] = []
    model = registry.estimate_calls("chat", plugin.model)
    for question in map(plugin.prompt, forms):
        shown, first = int(question.form.seen), len(question.opening)
        for length, repair in ((first, False), (first + len(question.repair), True)):
            for call in model:
                limit = question.max_tokens or call.max_tokens
                estimates.append(replace(call, prompt=length, images_shown=shown, max_tokens=limit, repair=repair))
    return tuple(estimates)


class ChatPlugin(Plugin):
    """One that asks a chat model: which, and with which templates."""

    model: dict[str, Any] = component("chat")
    """The chat model: its plugin and options. Where no max_tokens stands there, a protocol may have its own."""
    prompts: str = ""
    """Folder with own templates, or with a folder of them for each protocol; empty: the package's."""

    @abstractmethod
    def forms(self, protocol: str = "") -> Sequence[PromptTemplate[Any]]:
        """What is asked of the model, one after the other."""

    def texts_only(self, protocol: str = "") -> tuple[Component, ...]:
        """The chat model, where no form shows it an image."""
        return () if any(form.seen for form in self.forms(protocol)) else self.components()

    def prompt(self, form: PromptTemplate[T]) -> Prompt[T]:
        """A form with its templates; `max_tokens` of the model's options comes before the form's."""
        return prompt(form, self.prompts, None if "max_tokens" in self.model else form.max_tokens)

    def is_own(self, form: PromptTemplate[Any]) -> bool:
        """Whether a form's opening is the user's own template."""
        return bool(self.prompts) and _file(self.prompts, form, form.templates[0]) != prompt_file(
            form.templates[0], protocol=form.folder
        )

    def dependencies(self, protocol: str = "") -> tuple[str, ...]:
        """The templates."""
        files = (_file(self.prompts, form, name) for form in self.forms(protocol) for name in form.templates)
        return tuple(dict.fromkeys(map(str, files)))

    def diagnose(self, protocol: str = "") -> Iterator[Diagnostic]:
        """Templates that cannot be filled: a file is missing, or names a placeholder that has no value."""
        for form in self.forms(protocol):
            for name in form.templates:
                try:
                    fill_marked(_template(self.prompts, form, name), **dict.fromkeys(form.placeholders, ""))
                except InputError as error:
                    yield Diagnostic(False, f"{_file(self.prompts, form, name)}: {error}")

    def estimate_calls(self, protocol: str = "") -> tuple[CallEstimate, ...]:
        """Each form, and each again where a reply must be repaired."""
        return estimate_parsed(self, *self.forms(protocol))
