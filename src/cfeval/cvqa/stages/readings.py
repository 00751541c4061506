"""A language model reads what the rules left unread, and a share of what they read, to see whether both agree.

Its readings stand beside those of the rules and never in their place: no score changes by them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from cfeval.core.cli_options import Out, Seed, build
from cfeval.core.jsonl import count_records, read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import failed, failure
from cfeval.core.sampling import derive_seed
from cfeval.core.streams import ByKey, StreamingLookup
from cfeval.cvqa.choices import read_choices
from cfeval.cvqa.files import AnswersFile, QuestionsFile
from cfeval.cvqa.interfaces import ReadReply, ReadRequest, ReplyReader
from cfeval.cvqa.records import Answer, QuestionPair, Reading, form_of
from cfeval.cvqa.stages.scores import read_both, standing
from cfeval.inference.batching import map_requests
from cfeval.inference.remote.settings import Offline, use_offline_cache

BATCH = 64
_DRAWS = 2**31
"""Seeds that `derive_seed` gives."""


@dataclass(frozen=True)
class _Given:
    said: Answer
    rule: str | None
    request: ReadRequest


def readings(
    pairs: ByKey[str, QuestionPair], said: Iterable[Answer], reader: ReplyReader, share: float, seed: int
) -> Iterator[Reading]:
    """Have replies read, in their order: each that the robust rules leave unread, and a share of the others.

    Args:
        pairs: the questions, by id.
        said: the replies; a failed one is left out, since there is nothing to read.
        reader: who reads.
        share: of the replies that the rules read, in [0, 1]; drawn by the seed.
        seed: of the study.
    """
    given = (one for reply in said if (one := _given(pairs, reply, seed)) and _is_read(one, share, seed))
    for one, reply in map_requests(given, lambda one: one.request, reader.read, BATCH):
        yield _reading(one, reply)


def _given(pairs: ByKey[str, QuestionPair], said: Answer, seed: int) -> _Given | None:
    """A reply as it goes to the reader, letters as they were shown; None where it failed, or the answer is open."""
    pair = pairs[said.id]
    if failed(said) or form_of(pair.questions[said.side]) == "text":
        return None
    form, question = form_of(pair.questions[said.side]), pair.questions[said.side].question
    choices = read_choices(question)
    if choices and said.option_order:
        choices = choices.reordered(said.option_order)
    rule = read_both(said.text, form, choices, choices.stem if choices else question)["robust"]
    own = derive_seed(seed, said.id, said.side, said.option_order, "reading")
    asked = choices.text() if choices else question
    return _Given(said, standing(rule, said.option_order), ReadRequest(said.id, asked, form, said.text, own))


def _is_read(one: _Given, share: float, seed: int) -> bool:
    drawn = derive_seed(seed, one.said.id, one.said.side, one.said.option_order, "reread") / _DRAWS
    return one.rule is None or drawn < share


def _reading(one: _Given, reply: ReadReply) -> Reading:
    return Reading(
        id=one.said.id,
        side=one.said.side,
        option_order=one.said.option_order,
        rule=one.rule,
        read=standing(reply.read, one.said.option_order),
        completion=reply.completion,
        calls=reply.calls,
        **failure(reply.status, "readings", reply.reason),
    )


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
    """Have a language model read the replies that the rules left unread, and a share of the others."""
    use_offline_cache(offline)
    pairs = StreamingLookup(questions, QuestionPair, lambda pair: pair.id)
    who = build("reply_readers", reply_reader, "--reply-reader")
    made = readings(pairs, read_jsonl(answers, Answer), who, share, seed)
    write_jsonl(out, track(made, count_records(answers), "readings"))
