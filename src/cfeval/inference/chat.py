"""What every chat model offers: a batch of requests in, one reply each out, in the same order; and dialogues over it.

A dialogue is a generator that yields requests and is sent their replies, without thoughts; what it returns is its
result. A local model takes one request of every open dialogue at a time, as a batch; a provider's model takes each as
soon as it comes.
"""

import re
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

from cfeval.core.images import Picture
from cfeval.core.records import Status

T = TypeVar("T")
_THOUGHTS = re.compile(r"\A.*?</think>\s*", re.DOTALL)
"""What a reasoning model thinks aloud before it replies; it is no part of the reply. Some have the opening tag in the
template of the prompt, so that only the closing one is said."""


@dataclass(frozen=True)
class ChatMessage:
    """One message of a conversation; a user's may carry an image."""

    role: Literal["user", "assistant"]
    text: str
    picture: Picture | None = None


@dataclass(frozen=True)
class ChatRequest:
    """A conversation that ends with a user's turn.

    `item` is the sample's id: for messages to the user, and for test models that behave differently item by item.
    `schema` is the JSON schema that the reply should follow; a model that cannot enforce one answers in free text.
    `max_tokens` is the longest reply; None leaves it to the model's own option.
    """

    item: str
    turns: tuple[ChatMessage, ...]
    seed: int
    schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None


@dataclass(frozen=True)
class ChatReply:
    """The reply, or why there is none.

    `model` is the model that served it, as it names itself; `calls` names the stored calls it came from.
    """

    text: str = ""
    model: str = ""
    status: Status = Status.OK
    reason: str = ""
    calls: tuple[str, ...] = ()


class ChatModel(Protocol):
    """A chat model. A reply depends on its own request only, never on the batch it came in."""

    def generate(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        """Answer every request; a failed one is a reply with its status, never an exception."""
        ...


Dialogue = Generator[ChatRequest, ChatReply, T]


@runtime_checkable
class Conversing(Protocol):
    """A chat model that holds dialogues itself, because none of them has to wait for another."""

    def hold(self, dialogues: Sequence[Dialogue[T]]) -> list[T]:
        """Hold every dialogue to its end; their results, in order."""
        ...


@dataclass(frozen=True)
class _Ended(Generic[T]):
    result: T


def run_dialogues(model: ChatModel, dialogues: Sequence[Dialogue[T]]) -> list[T]:
    """Hold every dialogue with a model to its end; their results, in order."""
    if isinstance(model, Conversing):
        return model.hold(dialogues)
    steps: list[ChatRequest | _Ended[T]] = [_advance(dialogue) for dialogue in dialogues]
    while open_ := [(n, step) for n, step in enumerate(steps) if isinstance(step, ChatRequest)]:
        replies = model.generate([request for _, request in open_])
        for (n, _), reply in zip(open_, replies, strict=True):
            steps[n] = _advance(dialogues[n], reply)
    return [step.result for step in steps if isinstance(step, _Ended)]


async def hold_one(dialogue: Dialogue[T], ask: Callable[[ChatRequest], Awaitable[ChatReply]]) -> T:
    """Hold one dialogue with whoever answers its requests."""
    step = _advance(dialogue)
    while isinstance(step, ChatRequest):
        step = _advance(dialogue, await ask(step))
    return step.result


def one_request(request: ChatRequest) -> Dialogue[ChatReply]:
    """The dialogue of a single request."""
    return (yield request)


def _without_thoughts(reply: ChatReply) -> ChatReply:
    return replace(reply, text=_THOUGHTS.sub("", reply.text)) if "</think>" in reply.text else reply


def _advance(dialogue: Dialogue[T], reply: ChatReply | None = None) -> ChatRequest | _Ended[T]:
    try:
        return next(dialogue) if reply is None else dialogue.send(_without_thoughts(reply))
    except StopIteration as end:
        return _Ended(end.value)
