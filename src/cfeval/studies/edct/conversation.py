"""The two turns: the question, then in the same conversation the reason (EDCT 2025, Section 3, Stage 1)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from cfeval.backends.chat.base import ChatModel, ChatReply, ChatRequest, Dialogue, Turn, hold
from cfeval.backends.serving import served
from cfeval.io.pictures import Picture
from cfeval.io.prompts import fill
from cfeval.records.common import Status
from cfeval.seeds import derive

T = TypeVar("T")
BATCH = 256


@dataclass(frozen=True)
class Prompts:
    """The templates of the two turns: `answer` may name {question}; `explain` is sent as it is."""

    answer: str
    explain: str


@dataclass(frozen=True)
class Asked:
    """One conversation to hold: whose, about which image, which question, with which seed."""

    item: str
    picture: Picture
    question: str
    seed: int


def converse(
    model: ChatModel, things: Iterable[T], asked: Callable[[T], Asked], prompts: Prompts, stage: str
) -> Iterator[tuple[T, dict[str, Any]]]:
    """Hold both turns of a conversation about each thing; `asked` says which.

    Yields:
        Every thing with the fields of `cfeval.records.edct.Conversation` but the id, in order. Where a turn fails the
        later text stays empty, and status and reason say why.
    """

    def both_turns(some: list[Asked]) -> list[dict[str, Any]]:
        return hold(model, [_conversation(one, prompts, stage) for one in some])

    return served(model, things, asked, both_turns, BATCH)


def _conversation(asked: Asked, prompts: Prompts, stage: str) -> Dialogue[dict[str, Any]]:
    opening = Turn("user", fill(prompts.answer, question=asked.question), asked.picture)
    answer = _spoken((yield _request(asked, "answer", opening)), "answer")
    if answer.status != Status.OK:
        return _fields(answer, None, stage)
    follow_up = (opening, Turn("assistant", answer.text), Turn("user", prompts.explain))
    explanation = _spoken((yield _request(asked, "explanation", *follow_up)), "explanation")
    return _fields(answer, explanation, stage)


def _request(asked: Asked, purpose: str, *turns: Turn) -> ChatRequest:
    return ChatRequest(asked.item, turns, derive(asked.seed, purpose))


def _spoken(reply: ChatReply, what: str) -> ChatReply:
    """An empty reply is not one."""
    if reply.status == Status.OK and not reply.text.strip():
        return ChatReply(model=reply.model, status=Status.UNPARSABLE, reason=f"empty {what}", calls=reply.calls)
    return reply


def _fields(answer: ChatReply, explanation: ChatReply | None, stage: str) -> dict[str, Any]:
    last = explanation or answer
    failed = last.status != Status.OK
    return {
        "answer": answer.text.strip() if answer.status == Status.OK else "",
        "explanation": last.text.strip() if not failed else "",
        "model": last.model,
        "calls": answer.calls + (explanation.calls if explanation else ()),
        "status": last.status,
        "stage": stage if failed else "",
        "reason": last.reason if failed else "",
    }
