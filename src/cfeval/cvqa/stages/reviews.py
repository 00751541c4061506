"""A second model looks at every draft beside its image (C-VQA, Section 3.2)."""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated

import typer

from cfeval.core.cli_options import Out, Seed, build
from cfeval.core.images import Image
from cfeval.core.jsonl import count_records, read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import Status, failure, map_ok, propagated
from cfeval.core.sampling import derive_seed
from cfeval.cvqa.files import DraftsFile, opener
from cfeval.cvqa.interfaces import CheckReply, CheckRequest, QuestionValidator
from cfeval.cvqa.records import Draft, Question, Review
from cfeval.inference.batching import map_requests
from cfeval.inference.remote.settings import Offline, use_offline_cache

BATCH = 64
STAGE = "reviews"
ImageOf = Callable[[Draft], Image]


def reviews(
    drafts: Iterable[Draft], image_of: ImageOf, question_validator: QuestionValidator, seed: int
) -> Iterator[Review]:
    """Have every draft reviewed, in order; one that failed before carries its failure on."""

    def request(draft: Draft) -> CheckRequest:
        return _request(draft, image_of(draft), seed)

    for draft, reply in map_ok(drafts, lambda sound: map_requests(sound, request, question_validator.check, BATCH)):
        yield _review(draft.id, reply) if reply else Review(id=draft.id, **propagated(draft))


def _request(draft: Draft, image: Image, seed: int) -> CheckRequest:
    return CheckRequest(
        item=draft.id,
        image=image,
        original=draft.original,
        counterfactual=Question(question=draft.question, answer=draft.answer),
        type=draft.type,
        seed=derive_seed(seed, draft.id, "review"),
        metadata=draft.metadata,
    )


def _review(item: str, reply: CheckReply) -> Review:
    status, reason = reply.status, reply.reason
    if status == Status.OK and (reply.related is None or reply.reasonable is None):
        status, reason = Status.UNPARSABLE, "the question_validator gave no verdict"
    if status != Status.OK:
        return Review(id=item, completion=reply.completion, calls=reply.calls, **failure(status, STAGE, reason))
    return Review(
        id=item,
        related=reply.related,
        reasonable=reply.reasonable,
        reason_given=reply.reason_given,
        completion=reply.completion,
        calls=reply.calls,
    )


def run(
    drafts: DraftsFile,
    question_validator: Annotated[str, typer.Option(help="Who checks, as JSON: its plugin and options.")],
    seed: Seed,
    out: Out,
    offline: Offline = False,
) -> None:
    """Have drafts checked by a second model: is the question about the image, and is its answer right?"""
    use_offline_cache(offline)
    who, open_image = build("question_validators", question_validator, "--question-validator"), opener(drafts)
    made = reviews(read_jsonl(drafts, Draft), lambda draft: open_image(draft.image), who, seed)
    write_jsonl(out, track(made, count_records(drafts), "reviews"))
