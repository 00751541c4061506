"""Answers: every question, original and counterfactual, in a fresh turn (C-VQA, Section 4)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from cfeval.backends.answerers.base import Answerer, AnswerReply, AnswerRequest
from cfeval.backends.serving import served
from cfeval.io.choices import LETTERS, read_choices
from cfeval.io.pictures import Picture
from cfeval.records.cvqa import SIDES, Pair, Said, Side
from cfeval.records.outcomes import ended
from cfeval.seeds import derive

BATCH = 64
"""Pairs whose pictures are held at a time."""


@dataclass(frozen=True)
class _Put:
    pair: Pair
    side: Side
    order: str
    question: str


def answers(
    pairs: Iterable[Pair], picture_of: Callable[[Pair], Picture], answerer: Answerer, orders: int, seed: int
) -> Iterator[Said]:
    """Ask both questions of every pair, in order; a question with options in `orders` of their orders.

    Args:
        pairs: the questions.
        picture_of: how to open a pair's picture.
        answerer: who is asked.
        orders: 1 asks as the question stands; 2 to 4 also with the options rotated by one, two, three places. With 4
            every value stands once at every letter.
        seed: of the study; every question derives its own.
    """

    def requests(pair: Pair) -> list[AnswerRequest]:
        picture = picture_of(pair)
        return [_request(put, picture, seed) for put in _puts(pair, orders)]

    def answer(some: list[list[AnswerRequest]]) -> list[list[AnswerReply]]:
        replies = iter(answerer.answer([request for its in some for request in its]))
        return [[next(replies) for _ in its] for its in some]

    for pair, replies in served(answerer, pairs, requests, answer, BATCH):
        yield from (_said(put, reply) for put, reply in zip(_puts(pair, orders), replies, strict=True))


def asked_in_all(pairs: Iterable[Pair], orders: int) -> int:
    """How many questions are put about some pairs: only those with options are asked in several orders."""
    asked = (pair.side(side).question for pair in pairs for side in SIDES)
    return sum(orders if orders > 1 and read_choices(question) else 1 for question in asked)


def _puts(pair: Pair, orders: int) -> Iterator[_Put]:
    for side in SIDES:
        question = pair.side(side).question
        choices = read_choices(question)
        yield _Put(pair, side, "", question)
        for turn in range(1, orders if choices else 1):
            order = LETTERS[turn:] + LETTERS[:turn]
            assert choices is not None, "only options are turned"
            yield _Put(pair, side, order, choices.reordered(order).text())


def _request(put: _Put, picture: Picture, seed: int) -> AnswerRequest:
    pair, side = put.pair, put.side
    own = derive(seed, pair.id, side, put.order)
    return AnswerRequest(pair.id, side, pair.type, picture, put.question, own)


def _said(put: _Put, reply: AnswerReply) -> Said:
    return Said(
        id=put.pair.id,
        side=put.side,
        order=put.order,
        asked=reply.asked,
        text=reply.text,
        model=reply.model,
        calls=reply.calls,
        program=reply.program,
        **ended(reply.status, "answers", reply.reason),
    )
