"""Drafts of counterfactual questions from questions with known answers, and their reviews by a second model.

C-VQA, Sections 3.1 and 3.2 and Appendix B.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import Archive, Out, Seed, Shards, build
from cfeval.core.images import Image
from cfeval.core.jsonl import count_records, read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import Status, failure, map_ok, propagated
from cfeval.core.sampling import derive_seed
from cfeval.core.shards import file_with_images
from cfeval.cvqa.building import check_sum
from cfeval.cvqa.files import DraftsFile, opener
from cfeval.cvqa.interfaces import (
    BuildReply,
    BuildRequest,
    CheckReply,
    CheckRequest,
    QuestionGenerator,
    QuestionValidator,
    Wanted,
)
from cfeval.cvqa.records import Draft, Question, Review
from cfeval.datasets.sample import RawSample, Sample, as_record
from cfeval.datasets.vqa import read_questions
from cfeval.inference.batching import map_requests
from cfeval.inference.remote.settings import Offline, use_offline_cache

DRAFT_BATCH = 256
DRAFTS = "drafts"
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_ANSWERS: dict[Wanted, str] = {"direct": "0|[1-9][0-9]{0,8}", "boolean": "yes|no"}
# Datasets in VQA's layout, whose image ids are COCO's.
_OF_COCO = ("vqav2", "okvqa")
# The name that a published set would give a sample's image, and its number in COCO.
NameOf = Callable[[Sample], tuple[str, int | None]]
_Source = tuple[Sample, Question, Wanted]


class Skipped:
    """Counts samples from which neither a direct nor a boolean question can be built."""

    def __init__(self) -> None:
        self.no_reference = 0
        self.other_answer = 0

    def lines(self) -> tuple[str, ...]:
        """One line for each reason that occurred."""
        reasons = {
            "no right answer is known": self.no_reference,
            "the answer is neither a number of `How many`, nor yes or no": self.other_answer,
        }
        return tuple(f"{count} of the source questions left out: {why}" for why, count in reasons.items() if count)


def drafts(
    samples: Iterable[Sample],
    question_generator: QuestionGenerator,
    seed: int,
    skipped: Skipped,
    name_of: NameOf | None = None,
) -> Iterator[Draft]:
    """Have a counterfactual question built from every sample that allows for one, in order.

    Args:
        samples: questions with their right answers.
        question generator: who writes.
        seed: of the study.
        skipped: where the other samples are counted.
        name_of: see `NameOf`; without it the sample's id and no number.
    """
    sources = _sources(samples, skipped)
    replies = map_requests(sources, lambda source: _build_request(*source, seed), question_generator.build, DRAFT_BATCH)
    for (sample, original, kind), reply in replies:
        yield _draft(sample, original, kind, _consistent(reply, kind), (name_of or _by_id)(sample))


def in_coco(split: str) -> NameOf:
    """Names of COCO's images, such as those of val2014, from the ids of VQA's and OK-VQA's questions.

    An id is the image's number and three digits (VQA v2) or one digit (OK-VQA) behind it.
    """

    def name(sample: Sample) -> tuple[str, int | None]:
        if sample.scorer == "contains" or not sample.id.isdecimal():
            return _by_id(sample)
        image = int(sample.id) // (1000 if sample.scorer == "vqa" else 10)
        return f"COCO_{split}_{image:012d}.jpg", image

    return name


def source(sample: Sample) -> tuple[Question, Wanted] | None:
    """The original question with its answer in digits, `yes` or `no`, and the group it can be made one of."""
    answer = sample.reference.strip().rstrip(".").lower()
    if answer in ("yes", "no"):
        return Question(question=sample.question, answer=answer), "boolean"
    answer = str(_NUMBERS.index(answer)) if answer in _NUMBERS else answer
    if answer.isascii() and answer.isdecimal() and len(answer) <= 9:
        return Question(question=sample.question, answer=str(int(answer))), "direct"
    return None


def _sources(samples: Iterable[Sample], skipped: Skipped) -> Iterator[_Source]:
    for sample in samples:
        original = source(sample)
        if original is not None and (original[1] == "boolean" or _asks_for_count(sample.question)):
            yield sample, *original
        elif sample.reference.strip():
            skipped.other_answer += 1
        else:
            skipped.no_reference += 1


def _asks_for_count(question: str) -> bool:
    """Whether a question with a number for an answer asks for a count, not for a year or a time."""
    text = " ".join(question.lower().split())
    return text.startswith("how many ") or "number of" in text


def _build_request(sample: Sample, original: Question, kind: Wanted, seed: int) -> BuildRequest:
    return BuildRequest(sample.id, original.question, original.answer, kind, derive_seed(seed, sample.id, "draft"))


def _consistent(reply: BuildReply, kind: Wanted) -> BuildReply:
    """The reply, or its failure where a plugin says what no draft may say."""
    if reply.status != Status.OK:
        return reply
    if not reply.question.strip() or not re.fullmatch(_ANSWERS[kind], reply.answer):
        reason = f"no {kind} question with an answer came back, but {reply.question[:40]!r}, {reply.answer[:40]!r}"
        return BuildReply(completion=reply.completion, status=Status.UNPARSABLE, reason=reason, calls=reply.calls)
    return reply


def _draft(sample: Sample, original: Question, kind: Wanted, reply: BuildReply, name: tuple[str, int | None]) -> Draft:
    made = reply.status == Status.OK
    sums = check_sum(reply.step2, original.answer, reply.answer) if made and kind == "direct" else None
    return Draft(
        id=sample.id,
        image=sample.image,
        original=original,
        type=kind,
        img_path=name[0],
        coco=name[1],
        metadata=sample.metadata,
        step1=reply.step1,
        step2=reply.step2,
        question=reply.question,
        answer=reply.answer,
        arithmetic=sums.result if sums else None,
        completion=reply.completion,
        calls=reply.calls,
        **failure(reply.status, DRAFTS, reply.reason),
    )


def _by_id(sample: Sample) -> tuple[str, None]:
    return f"{sample.id}.png", None


def run_drafts(
    source: Annotated[str, typer.Option(help="Where the originals come from, as JSON: a dataset and its options.")],
    question_generator: Annotated[str, typer.Option(help="Who writes, as JSON: its plugin and options.")],
    items: Annotated[int, typer.Option(min=1, help="Originals that are looked at.")],
    seed: Seed,
    out: Out,
    shards: Shards = 1,
    offline: Offline = False,
    archive: Archive = False,
) -> None:
    """Have counterfactual questions written from original ones, in the paper's steps; nothing of them is checked yet.

    Originals are questions whose right answer is a number of `How many`, or yes or no; others are counted and left out.
    """
    use_offline_cache(offline)
    writer = build("question_generators", question_generator, "--question-generator")
    raws = build("datasets", source, "--source").samples(items, seed)
    kept = _Kept(raws)
    skipped = Skipped()
    # How images are named: as COCO names them where the originals are in VQA's layout.
    spec = json.loads(source)
    name_of = in_coco(read_questions(Path(spec["questions"])).split) if spec["plugin"] in _OF_COCO else None
    made = drafts(kept, writer, seed, skipped, name_of)
    try:
        file_with_images(out, track(_with_images(made, kept), items, "drafts"), shards, archive)
    finally:
        for line in skipped.lines():  # also where all are, and there is nothing to file
            print(line, file=sys.stderr)


class _Kept:
    """Passes samples on and keeps their images until they are taken."""

    def __init__(self, raws: Iterable[RawSample]) -> None:
        self.raws = raws
        self.images: dict[str, Image] = {}

    def __iter__(self) -> Iterator[Sample]:
        for raw in self.raws:
            self.images[raw.id] = raw.image
            yield as_record(raw, Sample)

    def take(self, item: str) -> Image:
        """The image of a sample; those of samples before it, which were left out, are given up."""
        for other in list(self.images):
            image = self.images.pop(other)
            if other == item:
                return image
        raise KeyError(item)


def _with_images(made: Iterable[Draft], kept: _Kept) -> Iterator[tuple[str, Draft, dict[str, Image]]]:
    for draft in made:
        yield draft.id, draft, {draft.image.path: kept.take(draft.id)}


REVIEW_BATCH = 64
REVIEWS = "reviews"
ImageOf = Callable[[Draft], Image]


def reviews(
    drafts: Iterable[Draft], image_of: ImageOf, question_validator: QuestionValidator, seed: int
) -> Iterator[Review]:
    """Have every draft reviewed, in order; one that failed before carries its failure on."""

    def request(draft: Draft) -> CheckRequest:
        return CheckRequest(
            item=draft.id,
            image=image_of(draft),
            original=draft.original,
            counterfactual=Question(question=draft.question, answer=draft.answer),
            type=draft.type,
            seed=derive_seed(seed, draft.id, "review"),
            metadata=draft.metadata,
        )

    for draft, reply in map_ok(
        drafts, lambda sound: map_requests(sound, request, question_validator.check, REVIEW_BATCH)
    ):
        yield _review(draft.id, reply) if reply else Review(id=draft.id, **propagated(draft))


def _review(item: str, reply: CheckReply) -> Review:
    status, reason = reply.status, reply.reason
    if status == Status.OK and (reply.related is None or reply.reasonable is None):
        status, reason = Status.UNPARSABLE, "the question_validator gave no verdict"
    if status != Status.OK:
        return Review(id=item, completion=reply.completion, calls=reply.calls, **failure(status, REVIEWS, reason))
    return Review(
        id=item,
        related=reply.related,
        reasonable=reply.reasonable,
        reason_given=reply.reason_given,
        completion=reply.completion,
        calls=reply.calls,
    )


def run_reviews(
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
