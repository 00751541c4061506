"""What every chat model offers: a request in, a reply out, without thoughts; a conversation awaits several in turn."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.inference.reasoning_marks import answer_of


@dataclass(frozen=True)
class Tool:
    """What a model may call: its name, what it does, and the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class ToolCall:
    """A model's wish to have a tool called; `arguments` are JSON as the model wrote them."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class ChatMessage:
    """One message of a conversation; a user's may carry images: `image`, then `more_images`.

    An assistant's may hold `tool_calls`; each is answered by a message of the role `tool` that names it (`answers`).
    `parts` are those of such a turn as the provider sent them (`ChatReply.parts`).
    """

    role: Literal["user", "assistant", "tool"]
    text: str
    image: Image | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    answers: str = ""
    parts: tuple[Any, ...] = ()
    more_images: tuple[Image, ...] = ()

    @property
    def images(self) -> tuple[Image, ...]:
        """All its images."""
        return (*([self.image] if self.image else []), *self.more_images)


@dataclass(frozen=True)
class ChatRequest:
    """A conversation that ends with a user's turn, or with what the called tools gave.

    `item` is the sample's id: for messages to the user, and for test models that behave differently item by item.
    `schema` is the JSON schema that the reply should follow; a model that cannot enforce one answers in free text.
    `max_tokens` is the longest reply; None leaves it to the model's own option. `tools` are for models that take them
    (`cfeval.core.registry.takes_tools`).
    """

    item: str
    turns: tuple[ChatMessage, ...]
    seed: int
    schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True)
class ChatReply:
    """The reply, without what the model thought aloud, or why there is none.

    `model` is the model that served it, as it names itself; `calls` names the stored calls it came from.
    `tool_calls` are the tools that it wants called before it goes on; `parts` is that turn in the provider's own words,
    which some want back with the results: signed thoughts are in it.
    """

    text: str = ""
    model: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    parts: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        """Cut off thoughts and special tokens, whoever makes the reply; open thoughts make it `truncated`."""
        text = answer_of(self.text)
        if text is not None:
            object.__setattr__(self, "text", text)
        elif self.status == Status.OK:
            object.__setattr__(self, "status", Status.TRUNCATED)
            object.__setattr__(self, "reason", "the thoughts in the reply do not end; raise max_tokens")


class ChatModel(Protocol):
    """A chat model. A reply depends on its own request only, never on the batch it came in."""

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Answer a request; a failed one is a reply with its status, never an exception."""
        ...
