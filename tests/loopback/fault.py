"""What a row of the fault table says: the requests a fault fits, and how a client should react to it."""

from dataclasses import dataclass
from enum import StrEnum

from cfeval.core.records import Status
from tests.loopback.effects import Effect


class Reaction(StrEnum):
    """What a client should do about a fault."""

    ACCEPTED = "accepted"
    """Nothing: the answer is usable as it is."""
    RETRIED = "retried"
    """Ask again; give up after some attempts, with the status of the row."""
    RECORDED = "recorded"
    """Take it as the item's end, with the status of the row; asking again would not help, or would falsify."""
    STOPS = "stops"
    """End the run with one line: every further call would fail the same way."""


class Kind(StrEnum):
    """The kinds of request."""

    CHAT = "chat"
    STREAM = "stream"
    """A chat request with `stream`."""
    IMAGE = "image"
    """A chat request whose modalities ask for an image."""
    EDIT = "edit"
    """The images endpoints of OpenAI and OpenRouter."""
    SUBMIT = "submit"
    POLL = "poll"
    DOWNLOAD = "download"
    INFO = "info"
    """Lists of models, keys, credits."""


CALLS = (Kind.CHAT, Kind.STREAM, Kind.IMAGE, Kind.EDIT, Kind.SUBMIT)
"""The requests that a provider charges for."""
TALK = (Kind.CHAT, Kind.STREAM, Kind.IMAGE, Kind.EDIT)
REPLIES = (Kind.CHAT, Kind.IMAGE)
IMAGES = (Kind.IMAGE, Kind.EDIT)
FILES = (Kind.IMAGE, Kind.EDIT, Kind.DOWNLOAD)
UNSTREAMED = tuple(kind for kind in Kind if kind != Kind.STREAM)
DECODED = tuple(kind for kind in UNSTREAMED if kind != Kind.DOWNLOAD)


@dataclass(frozen=True)
class Fault:
    """A row of the table."""

    name: str
    does: str
    effect: Effect
    where: tuple[Kind, ...]
    reaction: Reaction
    status: Status = Status.OK
    """How an item ends if the fault never ends. `ok`: it ends by itself, within the task. A run that stops has none."""
    wait: float | None = None
    """Seconds the server asks the client to wait, where it says so in a form that can be honoured."""
    stalls: bool = False
    """The answer takes longer than any client should wait: it ends by the client's own deadline."""


def accepted(name: str, does: str, effect: Effect, where: tuple[Kind, ...]) -> Fault:
    """A row about an answer that stays usable."""
    return Fault(name, does, effect, where, Reaction.ACCEPTED)


def retried(
    name: str,
    does: str,
    effect: Effect,
    where: tuple[Kind, ...],
    status: Status = Status.TRANSPORT_ERROR,
    *,
    wait: float | None = None,
    stalls: bool = False,
) -> Fault:
    """A row about a fault that the next attempt may not meet."""
    return Fault(name, does, effect, where, Reaction.RETRIED, status, wait, stalls)


def recorded(
    name: str,
    does: str,
    effect: Effect,
    where: tuple[Kind, ...],
    status: Status = Status.TRANSPORT_ERROR,
    *,
    stalls: bool = False,
) -> Fault:
    """A row about a fault that ends its item."""
    return Fault(name, does, effect, where, Reaction.RECORDED, status, stalls=stalls)


def stops(name: str, does: str, effect: Effect, where: tuple[Kind, ...]) -> Fault:
    """A row about a fault that every further call would meet."""
    return Fault(name, does, effect, where, Reaction.STOPS)
