"""How writers and judges ask a chat model: one turn, and one repair turn where the reply cannot be read."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from cfeval.backends import registry
from cfeval.backends.chat.base import ChatReply, ChatRequest, Dialogue, Turn
from cfeval.backends.registry import CallEstimate, Component, Diagnostic, PluginOptions
from cfeval.errors import InputError
from cfeval.io.pictures import Picture
from cfeval.io.prompts import fill_marked, load_prompt, prompt_file
from cfeval.records.common import Status
from cfeval.seeds import derive

T = TypeVar("T")


class AskingOptions(PluginOptions):
    """Which model is asked, and with which templates."""

    model: dict[str, Any]
    """The chat model: its backend and options. Where no max_tokens stands there, a protocol may have its own."""
    prompts: str = ""
    """Folder with own templates, or with a folder of them for each protocol; empty: the package's."""


@dataclass(frozen=True)
class Form(Generic[T]):
    """A question that a protocol has: its two templates, what they are filled with, and how a reply is bound and read.

    The templates are `name` and `name`_repair in a folder of the package; where the first has variants, `opening` is
    the name of the one that is used. `schema` is the JSON schema of the reply, for a server that enforces it; `read`
    says what a reply's text says, None where it cannot be read. `max_tokens` is the protocol's limit, None where it has
    none; `seen` says that a picture is shown with the opening; `arrange` is done to the opening before it is filled.
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
class Question(Generic[T]):
    """A form with its templates, ready to be asked; `max_tokens` is None where the model's own limit holds."""

    form: Form[T]
    opening: str
    repair: str
    max_tokens: int | None = None


@dataclass(frozen=True)
class Heard(Generic[T]):
    """What was read in the reply, or the status and reason why nothing was; `raw` is what came, as it came."""

    value: T | None
    raw: str
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


def model_of(options: AskingOptions) -> tuple[Component, ...]:
    """The chat model, as a part."""
    return (("chat", options.model),)


def question(options: AskingOptions, form: Form[T]) -> Question[T]:
    """Load the templates of a form, from the user's own folder where one is named.

    Raises:
        InputError: a template is missing, empty, or cannot be arranged.
    """
    opening, repair = (_template(options, form, name) for name in form.templates)
    limit = None if "max_tokens" in options.model else form.max_tokens
    return Question(form, opening, repair, limit)


def template_files(options: AskingOptions, *forms: Form[Any]) -> tuple[str, ...]:
    """The files of the templates."""
    found = (_file(options, form, name) for form in forms for name in form.templates)
    return tuple(dict.fromkeys(map(str, found)))


def template_faults(options: AskingOptions, *forms: Form[Any]) -> Iterator[Diagnostic]:
    """What is wrong with the templates: a file is missing, or names a placeholder that has no value."""
    for form in forms:
        for name in form.templates:
            try:
                fill_marked(_template(options, form, name), **dict.fromkeys(form.placeholders, ""))
            except InputError as error:
                yield Diagnostic(False, f"{_file(options, form, name)}: {error}")


def expected(options: AskingOptions, *forms: Form[Any]) -> tuple[CallEstimate, ...]:
    """The calls of `ask`, for every form, from those that the chat model makes for one request."""
    model = registry.estimate_calls("chat", options.model)
    return tuple(call for form in forms for call in _expected(model, question(options, form)))


def ask(
    asked: Question[T], item: str, values: Mapping[str, str], seed: int, picture: Picture | None = None
) -> Dialogue[Heard[T]]:
    """Ask, and ask once more in the same conversation where the reply cannot be read.

    Args:
        asked: the question.
        item: the sample's id.
        values: what is filled into both templates.
        seed: of this conversation; each turn derives its own.
        picture: what is shown, where the form has a picture.
    """
    form = asked.form
    opening = Turn("user", fill_marked(asked.opening, **values), picture if form.seen else None)
    repair = Turn("user", fill_marked(asked.repair, **values))
    first = yield ChatRequest(item, (opening,), derive(seed, "reply"), form.schema, asked.max_tokens)
    value = form.read(first.text) if first.status == Status.OK else None
    if value is not None or first.status != Status.OK or not first.text.strip():
        return _heard(value, first)
    turns = (opening, Turn("assistant", first.text), repair)
    second = yield ChatRequest(item, turns, derive(seed, "repair"), form.schema, asked.max_tokens)
    return _heard(form.read(second.text) if second.status == Status.OK else None, first, second)


def named_texts(texts: Mapping[str, str]) -> str:
    """Several replies in one text, each under its name; a single one is left as it is."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "\n\n".join(f"=== {name} ===\n{text}" for name, text in texts.items())


def _own(options: AskingOptions, form: Form[Any]) -> Path | None:
    """The user's own folder for a form, None for the package's."""
    if not options.prompts:
        return None
    inner = Path(options.prompts) / form.folder
    return inner if inner.is_dir() else Path(options.prompts)


def _file(options: AskingOptions, form: Form[Any], name: str) -> Path:
    return prompt_file(name, protocol=form.folder, folder=_own(options, form))


def _template(options: AskingOptions, form: Form[Any], name: str) -> str:
    text = load_prompt(name, protocol=form.folder, folder=_own(options, form))
    return form.arrange(text) if name == form.templates[0] else text


def _expected(model: tuple[CallEstimate, ...], asked: Question[Any]) -> Iterator[CallEstimate]:
    first, both = len(asked.opening), len(asked.opening) + len(asked.repair)
    for prompt, repair in ((first, False), (both, True)):
        for call in model:
            limit = asked.max_tokens or call.max_tokens
            pictures = int(asked.form.seen)
            yield replace(call, prompt=prompt, pictures=pictures, max_tokens=limit, repair=repair)


def _heard(value: T | None, *replies: ChatReply) -> Heard[T]:
    last = replies[-1]
    names = ("reply", "reply to the repair turn")
    raw = named_texts({name: reply.text for name, reply in zip(names, replies, strict=False)})
    calls = tuple(call for reply in replies for call in reply.calls)
    if value is not None:
        return Heard(value, raw, calls=calls)
    if last.status != Status.OK:
        return Heard(None, raw, last.status, last.reason, calls)
    return Heard(None, raw, Status.UNPARSABLE, _fault(replies), calls)


def _fault(replies: tuple[ChatReply, ...]) -> str:
    if len(replies) == 1:
        return "the reply is empty"
    return "neither the reply nor the one to the repair turn has the form that was asked for"
