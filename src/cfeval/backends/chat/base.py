"""What every chat model offers: a batch of conversations in, one reply each out, in the same order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from cfeval.io.pictures import Picture
from cfeval.records.common import Status


@dataclass(frozen=True)
class Turn:
    """One message of a conversation; a user's may carry an image."""

    role: Literal["user", "assistant"]
    text: str
    picture: Picture | None = None


@dataclass(frozen=True)
class ChatRequest:
    """A conversation that ends with a user's turn.

    `item` is the sample's id: for messages to the user, and for test models that behave differently item by item.
    """

    item: str
    turns: tuple[Turn, ...]
    seed: int


@dataclass(frozen=True)
class ChatReply:
    """The reply, or why there is none. `model` is the model that served it, as it names itself."""

    text: str = ""
    model: str = ""
    status: Status = Status.OK
    reason: str = ""


class ChatModel(Protocol):
    """A chat model. A reply depends on its own request only, never on the batch it came in."""

    def chat(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        """Answer every request; a failed one is a reply with its status, never an exception."""
        ...
