"""Answers: every question, original and counterfactual, in a fresh turn (C-VQA, Section 4)."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

import typer

from cfeval.core.cli_options import Out, Seed, build
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import ImageRef, failure
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.files import QuestionsFile, opener
from cfeval.cvqa.interfaces import AnswerReply, AnswerRequest, Solver
from cfeval.cvqa.records import Answer, QuestionPair, Side, form_of, read_choices
from cfeval.inference.batching import map_requests
from cfeval.inference.remote.settings import Offline, use_offline_cache

# Pairs whose images are held at a time.
BATCH = 64


@dataclass(frozen=True)
class _Put:
    pair: QuestionPair
    side: Side
    option_order: str
    question: str


def answers(
    pairs: Iterable[QuestionPair], open_image: Callable[[ImageRef], Image], solver: Solver, orders: int, seed: int
) -> Iterator[Answer]:
    """Ask the questions of every pair, in order; a question with options in `orders` of their orders.

    Args:
        pairs: the questions.
        open_image: how to open a pair's images.
        solver: who is asked.
        orders: 1 asks as the question stands; 2 to 4 also with the options rotated by one, two, three places. With 4
            every value of four stands once at every letter; no question has more orders than options.
        seed: of the study; every question derives its own.
    """

    def requests(pair: QuestionPair) -> list[AnswerRequest]:
        images = {ref.path: open_image(ref) for ref in pair.all_images}
        return [_request(put, images, seed) for put in _puts(pair, orders)]

    async def answer(batch: list[AnswerRequest]) -> list[AnswerReply]:
        return await asyncio.gather(*(solver.answer(request) for request in batch))

    for pair, replies in map_requests(pairs, requests, answer, BATCH):
        yield from (
            Answer(
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
            for put, reply in zip(_puts(pair, orders), replies, strict=True)
        )


def asked_in_all(pairs: Iterable[QuestionPair], orders: int) -> int:
    """How many questions are put about some pairs: only those with options are asked in several orders."""
    return sum(1 for pair in pairs for _ in _puts(pair, orders))


def _puts(pair: QuestionPair, orders: int) -> Iterator[_Put]:
    for side, question in pair.questions.items():
        yield _Put(pair, side, "", question.question)
        choices = read_choices(question.question) if orders > 1 else None
        letters = choices.letters if choices else ""
        for turn in range(1, min(orders, len(letters))):
            order = letters[turn:] + letters[:turn]
            assert choices is not None, "only options are turned"
            yield _Put(pair, side, order, choices.reordered(order).text())


def _request(put: _Put, images: Mapping[str, Image], seed: int) -> AnswerRequest:
    pair, side = put.pair, put.side
    own = derive_seed(seed, pair.id, side, put.option_order)
    first, *more = (images[ref.path] for ref in pair.images(side))
    return AnswerRequest(pair.id, side, pair.type, first, put.question, own, form_of(pair.questions[side]), tuple(more))


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
    total = asked_in_all(read_jsonl(questions, QuestionPair), orders)
    pairs = read_jsonl(questions, QuestionPair)
    who = build("solvers", solver, "--solver")
    replies = answers(pairs, opener(questions), who, orders, seed)
    write_jsonl(out, track(replies, total, "answers"))
