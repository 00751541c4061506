"""A language model reads what the rules left unread, and a share of what they read, to see whether both agree.

It judges open answers too, all of them, and replies whose truth is known, by which its error is measured. Its readings
and verdicts stand beside those of the rules and never in their place: no score changes by them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from cfeval.core.cli_options import Out, Seed, build
from cfeval.core.jsonl import count_records, read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import failed, failure
from cfeval.core.sampling import derive_seed
from cfeval.core.streams import ByKey, StreamingLookup
from cfeval.cvqa.files import AnswersFile, QuestionsFile
from cfeval.cvqa.interfaces import AnswerJudge, OpenAnswer, OpenVerdict, ReadReply, ReadRequest, ReplyReader
from cfeval.cvqa.open_answers import KnownReplies, KnownReply, written_replies
from cfeval.cvqa.records import Answer, Question, QuestionPair, Reading, Side, form_of, read_choices
from cfeval.cvqa.stages.scores import read_both, standing
from cfeval.inference.batching import map_requests
from cfeval.inference.remote.settings import Offline, use_offline_cache

BATCH = 64
# Seeds that `derive_seed` gives.
_DRAWS = 2**31


@dataclass(frozen=True)
class _Given:
    """What a language model is asked about a reply, and what is known of it beforehand; see `Reading`."""

    id: str
    side: Side
    option_order: str
    rule: str | None
    request: ReadRequest | OpenAnswer
    known: Literal["", "right", "wrong"] = ""


def readings(
    pairs: ByKey[str, QuestionPair], replies: Iterable[Answer], reader: ReplyReader, share: float, seed: int
) -> Iterator[Reading]:
    """Have replies read, in their order: each that the robust rules leave unread, and a share of the others.

    Every open answer is judged, where the reader is a judge of them, and with them replies of known truth.

    Args:
        pairs: the questions, by id.
        replies: what solvers replied; a failed one is left out, since there is nothing to read.
        reader: who reads.
        share: of the replies that the rules read, in [0, 1]; drawn by the seed.
        seed: of the study.
    """
    judge = reader if isinstance(reader, AnswerJudge) else None

    async def ask(request: ReadRequest | OpenAnswer) -> ReadReply | OpenVerdict:
        if isinstance(request, ReadRequest):
            return await reader.read(request)
        assert judge is not None, "without a judge nobody is asked about open answers"
        return await judge.judge(request)

    requests = _given(pairs, replies, share, seed, judges=judge is not None)
    for given, reply in map_requests(requests, lambda given: given.request, ask, BATCH):
        yield Reading(
            id=given.id,
            side=given.side,
            option_order=given.option_order,
            rule=given.rule,
            read=standing(reply.read, given.option_order) if isinstance(reply, ReadReply) else None,
            correct=reply.correct if isinstance(reply, OpenVerdict) else None,
            known=given.known,
            completion=reply.completion,
            calls=reply.calls,
            **failure(reply.status, "readings", reply.reason),
        )


def _given(
    pairs: ByKey[str, QuestionPair], replies: Iterable[Answer], share: float, seed: int, judges: bool
) -> Iterator[_Given]:
    known_replies, tried = KnownReplies(seed), False
    for reply in replies:
        question = pairs[reply.id].questions[reply.side]
        if form_of(question) != "text":
            given = None if failed(reply) else _to_read(question, reply, seed)
            if given and (
                given.rule is None
                or derive_seed(seed, reply.id, reply.side, reply.option_order, "reread") / _DRAWS < share
            ):
                yield given
        elif judges:
            if not tried:
                yield from (_tried(reply, seed) for reply in written_replies())
            tried = True
            yield _tried(known_replies.to(reply.id, reply.side, question), seed)
            if not failed(reply):
                rule = read_both(reply.text, "text", None, question.question)["robust"]
                accepted = (question.answer, *question.also)
                own = derive_seed(seed, reply.id, reply.side, reply.option_order, "reading")
                request = OpenAnswer(reply.id, question.question, accepted, reply.text, own)
                yield _Given(reply.id, reply.side, reply.option_order, rule, request)


def _to_read(question: Question, reply: Answer, seed: int) -> _Given:
    """A reply with the letters as they were shown."""
    form, choices = form_of(question), read_choices(question.question)
    if choices and reply.option_order:
        choices = choices.reordered(reply.option_order)
    rule = read_both(reply.text, form, choices, choices.stem if choices else question.question)["robust"]
    shown_question = choices.text() if choices else question.question
    own = derive_seed(seed, reply.id, reply.side, reply.option_order, "reading")
    request = ReadRequest(reply.id, shown_question, form, reply.text, own)
    return _Given(reply.id, reply.side, reply.option_order, standing(rule, reply.option_order), request)


def _tried(known_reply: KnownReply, seed: int) -> _Given:
    item, side, question, accepted, reply, truth = known_reply
    own = derive_seed(seed, item, side, "known reply", "reading")
    return _Given(item, side, "", None, OpenAnswer(item, question, accepted, reply, own), truth)


def run(
    questions: QuestionsFile,
    answers: AnswersFile,
    reply_reader: Annotated[str, typer.Option(help="Who reads, as JSON: its plugin and options.")],
    seed: Seed,
    out: Out,
    share: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the replies that the rules read which are read as well.")
    ] = 0.1,
    offline: Offline = False,
) -> None:
    """Have a language model read the replies that the rules left unread, and a share of the others.

    It judges every open answer, if it can, and replies of known truth, which show how often it errs.
    """
    use_offline_cache(offline)
    pairs = StreamingLookup(questions, QuestionPair, lambda pair: pair.id)
    who = build("reply_readers", reply_reader, "--reply-reader")
    made = readings(pairs, read_jsonl(answers, Answer), who, share, seed)
    write_jsonl(out, track(made, count_records(answers), "readings"))
