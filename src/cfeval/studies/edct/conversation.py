"""The two turns that baseline and re-query share: the question, then in the same conversation the reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cfeval.backends.chat.base import ChatModel, ChatReply, ChatRequest, Turn
from cfeval.io.pictures import Picture
from cfeval.io.prompts import fill
from cfeval.records.common import Status
from cfeval.studies.edct.seeds import derive


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


def converse(model: ChatModel, asked: Sequence[Asked], prompts: Prompts, stage: str) -> list[dict[str, Any]]:
    """Hold both turns of every conversation.

    Returns:
        The fields of `cfeval.records.edct.Conversation` but the id, in order. Where a turn fails the later text stays
        empty, and status and reason say why.
    """
    first = [_opening(one, prompts) for one in asked]
    answers = [_spoken(reply, "answer") for reply in model.chat(first)]
    open_ = [n for n, answer in enumerate(answers) if answer.status == Status.OK]
    second = [_follow_up(first[n], answers[n].text, asked[n], prompts) for n in open_]
    explanations = dict(zip(open_, (_spoken(reply, "explanation") for reply in model.chat(second)), strict=True))
    return [_fields(answer, explanations.get(n), stage) for n, answer in enumerate(answers)]


def _opening(asked: Asked, prompts: Prompts) -> ChatRequest:
    turn = Turn("user", fill(prompts.answer, question=asked.question), asked.picture)
    return ChatRequest(asked.item, (turn,), derive(asked.seed, "answer"))


def _follow_up(first: ChatRequest, answer: str, asked: Asked, prompts: Prompts) -> ChatRequest:
    turns = (*first.turns, Turn("assistant", answer), Turn("user", prompts.explain))
    return ChatRequest(asked.item, turns, derive(asked.seed, "explanation"))


def _spoken(reply: ChatReply, what: str) -> ChatReply:
    """An empty reply is not one."""
    if reply.status == Status.OK and not reply.text.strip():
        return ChatReply(model=reply.model, status=Status.UNPARSABLE, reason=f"empty {what}")
    return reply


def _fields(answer: ChatReply, explanation: ChatReply | None, stage: str) -> dict[str, Any]:
    last = explanation or answer
    failed = last.status != Status.OK
    return {
        "answer": answer.text.strip() if answer.status == Status.OK else "",
        "explanation": last.text.strip() if not failed else "",
        "model": last.model,
        "status": last.status,
        "stage": stage if failed else "",
        "reason": last.reason if failed else "",
    }
