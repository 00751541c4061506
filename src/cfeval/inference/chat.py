"""What every chat model offers: a request in, a reply out, without thoughts; a conversation awaits several in turn.

A reply may come with log-probabilities of how it begins: the likeliest tokens in the place of its first one. Only the
beginning counts: of a short answer (a word, a number, yes or no) it decides which answer it is.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.inference.thinking import answer_of


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


# Tokens with their natural log-probabilities, the likeliest first.
Tokens = tuple[tuple[str, float], ...]
# The token that was said, and the likeliest in its place.
Step = tuple[str, Tokens]
# As many as OpenAI and vLLM give at most.
MOST = 20


@dataclass(frozen=True)
class ScoredReply(ChatReply):
    """A reply of a model that was asked for log-probabilities; empty where it gave none."""

    first_token: str = ""
    """The token with which the text begins."""
    beginnings: Tokens = ()
    """The likeliest tokens in its place."""


def is_logprob(value: Any) -> bool:
    """Whether it is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def scored(reply: ChatReply, steps: Sequence[Step], text: str) -> ScoredReply:
    """A reply with the log-probabilities of how it could have begun; for the arguments see `beginnings`."""
    first, likeliest = beginnings(steps, text)
    return ScoredReply(**vars(reply), first_token=first, beginnings=likeliest)


def beginnings(steps: Sequence[Step], text: str) -> Step:
    """The first token of a text, and the likeliest in its place.

    Args:
        steps: all that the model said, token by token; thoughts may stand before the text, a sign of the end behind it.
        text: the reply, without thoughts.

    Returns:
        The token that was said is among the likeliest; nothing where the tokens do not hold the text, blanks aside.
    """
    pieces = [_bare(token) for token, _ in steps]
    wanted = _bare(text)
    start = "".join(pieces).rfind(wanted) if wanted else -1
    if start < 0:
        return "", ()
    before = 0
    for place, piece in enumerate(pieces):
        if piece and before + len(piece) > start:
            return steps[place][0], _ranked(steps[place][1])
        before += len(piece)
    return "", ()


def _ranked(tokens: Tokens) -> Tokens:
    """Each token once, the likeliest first."""
    best: dict[str, float] = {}
    for token, logprob in tokens:
        best[token] = max(logprob, best.get(token, logprob))
    return tuple(sorted(best.items(), key=lambda pair: (-pair[1], pair[0])))


def _bare(text: str) -> str:
    return "".join(text.split())
