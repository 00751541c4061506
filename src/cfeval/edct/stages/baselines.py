"""Stage 1, baseline acquisition: the model's answer and explanation for the original image (EDCT 2025, Section 3).

Two turns: the question, then in the same conversation the reason. The re-query of stage 4 holds them, too.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

import typer

from cfeval.core.cli_options import Out, PromptFolder, Seed, build, count_valid_records
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import Status
from cfeval.core.sampling import derive_seed
from cfeval.datasets.sample import Sample, SamplesFile, originals
from cfeval.edct.answers import NO_ANSWER
from cfeval.edct.echoes import repeats_answer
from cfeval.edct.files import VlmSpec, WordingOption, conversation_prompts
from cfeval.edct.records import Baseline, Conversation
from cfeval.inference.batching import map_requests
from cfeval.inference.chat import ChatMessage, ChatModel, ChatReply, ChatRequest
from cfeval.inference.prompts import fill
from cfeval.inference.remote.settings import Offline, use_offline_cache

T = TypeVar("T")
Fields = dict[str, Any]
BATCH = 256


@dataclass(frozen=True)
class Prompts:
    """The templates of the two turns: `answer` may name {question}; `explain` is sent as it is."""

    answer: str
    explain: str


@dataclass(frozen=True)
class Question:
    """One conversation to hold: whose, about which image, which question, with which seed."""

    item: str
    image: Image
    question: str
    seed: int


def baselines(
    samples: Iterable[Sample],
    image_of: Callable[[Sample], Image],
    model: ChatModel,
    prompts: Prompts,
    seed: int,
    again: bool = False,
) -> Iterator[Baseline]:
    """Ask every question and its reason, in order; with `again` once more where the target gives no answer."""

    def unanswered(_: Sample, fields: Fields) -> bool:
        return again and fields["status"] in NO_ANSWER

    def question_of(sample: Sample) -> Question:
        return Question(sample.id, image_of(sample), sample.question, derive_seed(seed, sample.id, "baseline"))

    for sample, fields in converse(model, samples, question_of, prompts, "baselines", unanswered):
        second = fields.pop("second", None)
        first, last = (Conversation(id=sample.id, **fields), second) if second else (None, fields)
        repeats = last["status"] == Status.OK and repeats_answer(last["answer"], last["explanation"])
        yield Baseline(id=sample.id, question=sample.question, repeats_answer=repeats, **last, first=first)


def converse(
    model: ChatModel,
    things: Iterable[T],
    question_of: Callable[[T], Question],
    prompts: Prompts,
    stage: str,
    once_more: Callable[[T, Fields], bool] | None = None,
) -> Iterator[tuple[T, Fields]]:
    """Hold both turns of a conversation about each thing; `question_of` says which.

    Args:
        stage: where a failure happens.
        once_more: whether a thing is asked about again, by another seed, after the conversation with these fields;
            None: no thing is.

    Yields:
        Every thing with the fields of `cfeval.edct.records.Conversation` but the id, in order, and under `second` those
        of the second conversation, where it was asked about again. Where a turn fails the later text stays empty, and
        status and reason say why.
    """

    async def hold(case: tuple[T, Question]) -> Fields:
        thing, own_case = case
        conversation = await _conversation(model, own_case, prompts, stage)
        if once_more is not None and once_more(thing, conversation):
            other = replace(own_case, seed=derive_seed(own_case.seed, "again"))
            conversation["second"] = await _conversation(model, other, prompts, stage)
        return conversation

    return map_requests(things, lambda thing: (thing, question_of(thing)), hold, BATCH)


async def _conversation(model: ChatModel, call: Question, prompts: Prompts, stage: str) -> Fields:
    async def ask(purpose: str, *turns: ChatMessage) -> ChatReply:
        reply = await model.generate(ChatRequest(call.item, turns, derive_seed(call.seed, purpose)))
        if reply.status == Status.OK and not reply.text.strip():
            return ChatReply(model=reply.model, status=Status.UNPARSABLE, reason=f"empty {purpose}", calls=reply.calls)
        return reply

    opening = ChatMessage("user", fill(prompts.answer, question=call.question), call.image)
    last = answer = await ask("answer", opening)
    if answer.status == Status.OK:
        follow_up = ChatMessage("user", prompts.explain)
        last = await ask("explanation", opening, ChatMessage("assistant", answer.text), follow_up)
    failed = last.status != Status.OK
    return {
        "answer": answer.text.strip() if answer.status == Status.OK else "",
        "explanation": last.text.strip() if not failed else "",
        "model": last.model,
        "calls": answer.calls + (last.calls if last is not answer else ()),
        "status": last.status,
        "stage": stage if failed else "",
        "reason": last.reason if failed else "",
    }


def run(
    samples: SamplesFile,
    vlm: VlmSpec,
    seed: Seed,
    out: Out,
    prompts: PromptFolder = "",
    wording: WordingOption = "a",
    again: Annotated[
        bool, typer.Option("--again", help="Ask once more, by another seed, where the target gives no answer.")
    ] = False,
    offline: Offline = False,
) -> None:
    """Ask a target model every question and, in the same conversation, the reason for its answer."""
    use_offline_cache(offline)
    total = count_valid_records(samples, Sample)
    model = build("chat", vlm, "--vlm")
    templates = Prompts(*conversation_prompts(prompts, wording))
    records = baselines(read_jsonl(samples, Sample), originals(samples), model, templates, seed, again)
    write_jsonl(out, track(records, total, "baselines"))
