"""Answers: every question, original and counterfactual, in a fresh turn (C-VQA, Section 4)."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from cfeval.core.cli_options import Out, Seed, build
from cfeval.core.images import Image
from cfeval.core.jsonl import count_records, read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import failure
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.csv_format import LETTERS, read_choices
from cfeval.cvqa.files import QuestionsFile, opener
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest, Solver
from cfeval.cvqa.records import SIDES, Answer, QuestionPair, Side
from cfeval.inference.batching import map_requests
from cfeval.inference.remote.settings import Offline, use_offline_cache

BATCH = 64
"""Pairs whose images are held at a time."""


@dataclass(frozen=True)
class _Put:
    pair: QuestionPair
    side: Side
    option_order: str
    question: str


def answers(
    pairs: Iterable[QuestionPair],
    image_of: Callable[[QuestionPair], Image],
    solver: Solver,
    orders: int,
    seed: int,
) -> Iterator[Answer]:
    """Ask both questions of every pair, in order; a question with options in `orders` of their orders.

    Args:
        pairs: the questions.
        image_of: how to open a pair's image.
        solver: who is asked.
        orders: 1 asks as the question stands; 2 to 4 also with the options rotated by one, two, three places. With 4
            every value stands once at every letter.
        seed: of the study; every question derives its own.
    """

    def requests(pair: QuestionPair) -> list[AnswerRequest]:
        image = image_of(pair)
        return [_request(put, image, seed) for put in _puts(pair, orders)]

    async def answer(its: list[AnswerRequest]) -> list[AnswerReply]:
        return await asyncio.gather(*(solver.answer(request) for request in its))

    for pair, replies in map_requests(pairs, requests, answer, BATCH):
        yield from (_said(put, reply) for put, reply in zip(_puts(pair, orders), replies, strict=True))


def asked_in_all(pairs: Iterable[QuestionPair], orders: int) -> int:
    """How many questions are put about some pairs: only those with options are asked in several orders."""
    asked = (pair.side(side).question for pair in pairs for side in SIDES)
    return sum(orders if orders > 1 and read_choices(question) else 1 for question in asked)


def _puts(pair: QuestionPair, orders: int) -> Iterator[_Put]:
    for side in SIDES:
        question = pair.side(side).question
        choices = read_choices(question)
        yield _Put(pair, side, "", question)
        for turn in range(1, orders if choices else 1):
            order = LETTERS[turn:] + LETTERS[:turn]
            assert choices is not None, "only options are turned"
            yield _Put(pair, side, order, choices.reordered(order).text())


def _request(put: _Put, image: Image, seed: int) -> AnswerRequest:
    pair, side = put.pair, put.side
    own = derive_seed(seed, pair.id, side, put.option_order)
    return AnswerRequest(pair.id, side, pair.type, image, put.question, own)


def _said(put: _Put, reply: AnswerReply) -> Answer:
    return Answer(
        id=put.pair.id,
        side=put.side,
        option_order=put.option_order,
        asked=reply.asked,
        text=reply.text,
        model=reply.model,
        calls=reply.calls,
        program=reply.program,
        **failure(reply.status, "answers", reply.reason),
    )


def run(
    questions: QuestionsFile,
    solver: Annotated[str, typer.Option(help="Who answers, as JSON: its plugin and options.")],
    seed: Seed,
    out: Out,
    orders: Annotated[
        int, typer.Option(min=1, max=4, help="In how many orders of its options a question is asked.")
    ] = 1,
    offline: Offline = False,
) -> None:
    """Have every question of a set answered, original and counterfactual, each in a fresh turn."""
    use_offline_cache(offline)
    open_image = opener(questions)
    total = (
        asked_in_all(read_jsonl(questions, QuestionPair), orders)
        if orders > 1
        else len(SIDES) * count_records(questions)
    )
    pairs = read_jsonl(questions, QuestionPair)
    who = build("solvers", solver, "--solver")
    said = answers(pairs, lambda pair: open_image(pair.image), who, orders, seed)
    write_jsonl(out, track(said, total, "answers"))
