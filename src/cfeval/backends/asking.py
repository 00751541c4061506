"""How writers and judges ask a chat model: one turn, and one repair turn where the reply cannot be read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from cfeval.backends.chat.base import ChatReply, ChatRequest, Dialogue, Turn
from cfeval.backends.registry import Expected, Finding
from cfeval.errors import InputError
from cfeval.io.prompts import fill_marked, load_prompt, prompt_file
from cfeval.records.common import Status
from cfeval.seeds import derive

T = TypeVar("T")


@dataclass(frozen=True)
class Templates:
    """The prompt of the first turn and that of the repair turn."""

    opening: str
    repair: str


@dataclass(frozen=True)
class Heard(Generic[T]):
    """What was read in the reply, or the status and reason why nothing was; `raw` is what came, as it came."""

    value: T | None
    raw: str
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


def templates(name: str, protocol: str, folder: str) -> Templates:
    """The templates `name` and `name_repair` of a protocol, or those of the user's own folder where one is named."""
    own = Path(folder) if folder else None
    return Templates(*(load_prompt(file, protocol=protocol, folder=own) for file in _files(name)))


def template_files(name: str, protocols: tuple[str, ...], folder: str) -> tuple[str, ...]:
    """The files of these templates; one folder of the user's own serves whatever protocol is asked for."""
    own = Path(folder) if folder else None
    found = (str(prompt_file(file, protocol=p, folder=own)) for p in protocols for file in _files(name))
    return tuple(dict.fromkeys(found))


def template_faults(name: str, protocol: str, folder: str, placeholders: Sequence[str]) -> Iterator[Finding]:
    """What is wrong with the templates: a file is missing, or names a placeholder that has no value."""
    own = Path(folder) if folder else None
    for file in _files(name):
        try:
            fill_marked(load_prompt(file, protocol=protocol, folder=own), **dict.fromkeys(placeholders, ""))
        except InputError as error:
            yield Finding(False, f"{prompt_file(file, protocol=protocol, folder=own)}: {error}")


def expected(calls: tuple[Expected, ...], prompts: Templates) -> tuple[Expected, ...]:
    """The calls of `ask`, from those that the chat model makes for one request."""
    first = tuple(replace(call, prompt=len(prompts.opening)) for call in calls)
    both = len(prompts.opening) + len(prompts.repair)
    return first + tuple(replace(call, prompt=both, repair=True) for call in calls)


def ask(
    item: str,
    prompts: Templates,
    values: Mapping[str, str],
    seed: int,
    schema: Mapping[str, Any],
    read: Callable[[str], T | None],
) -> Dialogue[Heard[T]]:
    """Ask, and ask once more in the same conversation where the reply cannot be read.

    Args:
        item: the sample's id.
        prompts: the templates of both turns.
        values: what is filled into them.
        seed: of this conversation; each turn derives its own.
        schema: the JSON schema of the reply, for a server that enforces it.
        read: what a reply's text says; None where it cannot be read.
    """
    opening, repair = (Turn("user", fill_marked(t, **values)) for t in (prompts.opening, prompts.repair))
    first = yield ChatRequest(item, (opening,), derive(seed, "reply"), schema)
    value = read(first.text) if first.status == Status.OK else None
    if value is not None or first.status != Status.OK or not first.text.strip():
        return _heard(value, first)
    turns = (opening, Turn("assistant", first.text), repair)
    second = yield ChatRequest(item, turns, derive(seed, "repair"), schema)
    return _heard(read(second.text) if second.status == Status.OK else None, first, second)


def named_texts(texts: Mapping[str, str]) -> str:
    """Several replies in one text, each under its name; a single one is left as it is."""
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "\n\n".join(f"=== {name} ===\n{text}" for name, text in texts.items())


def _files(name: str) -> tuple[str, str]:
    return name, f"{name}_repair"


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
