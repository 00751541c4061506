"""Stage 4b, consistency: a judge compares the texts before and after the edit (EDCT 2025, Section 3, Appendix A).

In a chain it is told all edits so far (EDCT-Bench 2026). A judge that looks at the edited image is told none, and
neither is the judge of a control: nothing that is cited was changed.

Every verdict also says whether the answer moved (`cfeval.edct.answers`): by the texts, and where a study has controls
by the judge where these do not decide. On the texts of null edits the judge is measured too, without a further
call to the target: told the cited edit, which was not made, it should score 0 (sham); and another item's answer, in the
place of this one's, should be found to have moved (swapped), and where it was asked about the answers, this one's in
other words should not (reworded).

Where the target was asked again since its answer may have changed although nothing cited was edited, the second answer
is compared with the baseline's as well, if the first has moved (`cfeval.edct.records.AskedAgain`).

Where a study has a reader (`cfeval.edct.stages.checks`), its two answers are compared in the same way.
"""

from asyncio import gather
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.core.cli_options import Out, Seed, build, count_valid_records, existing
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import Binary, Status, failed, failure, map_ok, propagated
from cfeval.core.sampling import derive_seed
from cfeval.core.streams import ByKey
from cfeval.edct.answers import declines, evades, moved_by_text, names, reworded, same_text, surely_moved
from cfeval.edct.files import (
    BaselineFile,
    CitedFile,
    CounterfactualsFile,
    InstructionsFile,
    Protocol,
    RequeryFile,
    baselines_by_id,
    checks_by_edit,
    edited,
    instructions_by_edit,
    made_by_edit,
)
from cfeval.edct.interfaces import Change, Judge, JudgeReply, JudgeRequest
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025, NULL_EDIT, RULES
from cfeval.edct.records import AskedAgain, Baseline, Check, Conversation, Instruction, Reading, Requery, Verdict
from cfeval.edct.stages.edits import ByEdit, earlier
from cfeval.inference.batching import map_requests
from cfeval.inference.prompts import named_texts
from cfeval.inference.remote.settings import Offline, use_offline_cache

BATCH = 256
# So many items back another answer is looked for.
REMEMBERED_ANSWERS = 20


@dataclass(frozen=True)
class _Case:
    """A re-query as it is judged, and what else is asked."""

    request: JudgeRequest
    concept: str
    """What was edited; empty where nothing was."""
    sham: Instruction | None
    """The cited edit, which was not made."""
    other: Baseline | None
    """What was said of another item, with another answer."""
    again: Conversation | None
    """What was said when the target was asked again."""
    declined: bool
    """The target was asked again because it had given no answer."""
    reading: Reading | None
    """What the reader said of the original and the edited image."""


@dataclass(frozen=True)
class _Outcome:
    """What came of a case."""

    reply: JudgeReply
    answer_moved: Binary | None = None
    by_text: Binary | None = None
    names_edited: Binary | None = None
    judge_evaded: Binary | None = None
    evaded: Binary | None = None
    again: AskedAgain = ""
    sham: Binary | None = None
    swapped: Binary | None = None
    reworded: Binary | None = None
    reader_moved: Binary | None = None
    extra_replies: Mapping[str, JudgeReply] = field(default_factory=dict)
    """The other replies, by what was asked; a reply that came of no call has no text."""

    @property
    def completion(self) -> str:
        """All replies as they came."""
        more = {name: reply.completion for name, reply in self.extra_replies.items() if reply.completion}
        return named_texts({"scores": self.reply.completion, **more})

    @property
    def calls(self) -> tuple[str, ...]:
        """All calls, each once: two questions may be the same."""
        replies = self.reply, *self.extra_replies.values()
        return tuple(dict.fromkeys(call for reply in replies for call in reply.calls))


def verdicts(
    requeries: Iterable[Requery],
    baselines: ByKey[str, Baseline],
    instructions: ByEdit,
    edited_of: Callable[[str, int], Image],
    judge: Judge,
    protocol: str,
    seed: int,
    cited: ByEdit | None = None,
    compare: bool = False,
    checks: ByKey[tuple[str, int], Check] | None = None,
) -> Iterator[Verdict]:
    """Judge every re-query, in order.

    Args:
        baselines: what was said of the originals, by id.
        cited: the instructions of the cited edits, of all items of `requeries`; null edits are then sham edits too.
        compare: ask the judge whether the answer moved where the texts do not decide and the protocol's scores do not
            say.
        checks: by item and edit, where a reader may have been asked.
    """
    previous_answers: deque[Baseline] = deque(maxlen=REMEMBERED_ANSWERS)

    def case(record: Requery) -> _Case:
        before = baselines[record.id]
        concept = instructions[record.id, record.edit].concept if RULES[protocol].written else ""
        shown_instructions: list[Instruction] = []
        if RULES[protocol].edits == "cited":
            shown_instructions += earlier(record.id, record.edit, instructions, protocol)
            shown_instructions.append(instructions[record.id, record.edit])
        texts = JudgeRequest(
            item=record.id,
            answer=before.answer,
            explanation=before.explanation,
            changes=tuple(Change(instruction.positive, instruction.negative) for instruction in shown_instructions),
            new_answer=record.answer,
            new_explanation=record.explanation,
            seed=derive_seed(seed, record.id, record.edit, "verdict"),
            protocol=protocol,
        )
        if judge.needs_image:
            image = edited_of(record.id, record.edit)
            texts = replace(texts, changes=(), question=before.question, image=image)
        null = RULES[protocol].edits == "none"
        sham = cited[record.id, 1] if cited is not None and null else None
        other = None
        if null:  # the latest item whose answer differs in substance for sure; the first has none
            unlike = filter(
                lambda old: surely_moved(before.answer, old.answer, old.question == before.question), previous_answers
            )
            other = next(unlike, None)
            previous_answers.appendleft(before)
        reading = checks[record.id, record.edit].reader if checks is not None else None
        return _Case(texts, concept, sham, other, record.again, record.first is not None, reading)

    async def decide(case: _Case) -> _Outcome:
        outcome = await (_control(judge, case) if protocol in CONTROLS else _cited(judge, case, compare))
        named = names(case.request.new_explanation, case.concept) if case.concept else None
        outcome = replace(outcome, names_edited=named, evaded=1 if _evaded(case.request, outcome) else 0)
        if case.reading is not None:
            read = await _read(judge, case.request, case.reading, compare)
            seen: Binary = 1 if _moved(read) == 1 else 0
            outcome = replace(outcome, reader_moved=seen, extra_replies={**outcome.extra_replies, "reader": read})
        return await _compared_again(judge, case, outcome)

    for record, outcome in map_ok(requeries, lambda sound: map_requests(sound, case, decide, BATCH)):
        if outcome:
            yield _verdict(record, outcome, protocol)
        else:
            again: AskedAgain = "unanswered" if record.first else ""
            yield Verdict(id=record.id, edit=record.edit, again=again, **propagated(record))


async def _cited(judge: Judge, case: _Case, compare: bool) -> _Outcome:
    """The scores of a protocol that edits what is cited, and whether the answer moved: the judge is asked if wanted."""
    request = case.request
    reply = await judge.judge(request)
    moved = moved_by_text(request.answer, request.new_answer)
    if moved is not None:
        return _Outcome(reply, moved, 1)
    if not compare:
        return _Outcome(reply)
    compared = await judge.judge(_comparison(request))
    moved, replies = _moved(compared), {"comparison": compared}
    return _Outcome(reply, moved, None if moved is None else 0, judge_evaded=compared.evades, extra_replies=replies)


async def _control(judge: Judge, case: _Case) -> _Outcome:
    """What moved; nobody is asked where all texts are equal."""
    request = case.request
    moved = moved_by_text(request.answer, request.new_answer)
    by_text: Binary | None = 1
    if moved == 0 and same_text(request.explanation, request.new_explanation):
        reply = JudgeReply(scores={"answer_moved": 0, "explanation_moved": 0})
    else:
        reply = await judge.judge(request)
        if moved is None:
            moved = _moved(reply)
            by_text = None if moved is None else 0
        elif reply.status == Status.OK:
            reply = replace(reply, scores={**reply.scores, "answer_moved": moved})
    null = case.sham is not None and by_text == 0
    sham, swapped, again = await gather(_sham(judge, case), _swapped(judge, case), _reworded(judge, case, null))
    replies = {"sham": sham, "swapped": swapped, "reworded": again}
    measured: dict[str, Any] = {"sham": _product(sham), "swapped": _moved(swapped), "reworded": _moved(again)}
    return _Outcome(reply, moved, by_text, judge_evaded=reply.evades, extra_replies=replies, **measured)


def _evaded(request: JudgeRequest, outcome: _Outcome) -> bool:
    """Whether the new answer evades as the one before does not: by its text; or by the judge, where it was the judge
    who found that the answer moved, since an evasion is never the answer of before.
    """
    if evades(request.answer):
        return False
    by_judge = outcome.by_text == 0 and outcome.answer_moved == 1 and outcome.judge_evaded == 1
    return by_judge or evades(request.new_answer)


async def _compared_again(judge: Judge, case: _Case, outcome: _Outcome) -> _Outcome:
    """What came of asking the target again."""
    if case.again is None:
        return replace(outcome, again=("unanswered" if outcome.evaded else "answered") if case.declined else "")
    if outcome.answer_moved != 1 or outcome.evaded:
        return replace(outcome, again="unchanged" if outcome.answer_moved == 0 else "unknown")
    request, second = case.request, case.again
    if declines(second.status, second.answer, request.answer):
        return replace(outcome, again="unanswered")
    if failed(second):
        return replace(outcome, again="unknown")
    moved = moved_by_text(request.answer, second.answer)
    if moved is None:
        texts = replace(request, new_answer=second.answer, new_explanation=second.explanation)
        reply = await judge.judge(replace(_comparison(texts), seed=derive_seed(request.seed, "again")))
        moved = _moved(reply)
        outcome = replace(outcome, extra_replies={**outcome.extra_replies, "again": reply})
    return replace(outcome, again="unknown" if moved is None else "confirmed" if moved else "withdrawn")


async def _sham(judge: Judge, case: _Case) -> JudgeReply:
    """The scores of a null edit whose judge is told the cited edit; a judge that is told no edits has none."""
    if case.sham is None or failed(case.sham) or judge.needs_image:
        return JudgeReply(status=Status.UNPARSABLE)
    change = Change(case.sham.positive, case.sham.negative)
    return await judge.judge(replace(case.request, protocol=EDCT_2025, changes=(change,)))


async def _swapped(judge: Judge, case: _Case) -> JudgeReply:
    """Whether another item's answer moved, in the place of this one's."""
    if case.other is None:
        return JudgeReply(status=Status.UNPARSABLE)
    moved = moved_by_text(case.request.answer, case.other.answer)
    if moved is not None:
        return JudgeReply(scores={"answer_moved": moved})
    other = replace(case.request, new_answer=case.other.answer, new_explanation=case.other.explanation)
    return await judge.judge(_comparison(other))


async def _reworded(judge: Judge, case: _Case, judged: bool) -> JudgeReply:
    """Whether the same answer in other words moved; of a judge that is not asked about answers nobody need know."""
    if not judged:
        return JudgeReply(status=Status.UNPARSABLE)
    request = case.request
    same = replace(request, new_answer=reworded(request.answer), new_explanation=request.explanation)
    return await judge.judge(replace(_comparison(same), seed=derive_seed(request.seed, "reworded")))


async def _read(judge: Judge, request: JudgeRequest, reading: Reading, compare: bool) -> JudgeReply:
    """Whether the reader's answer moved; the judge is asked if wanted."""
    if not reading.before or not reading.after:
        return JudgeReply(status=Status.UNPARSABLE)
    moved = moved_by_text(reading.before, reading.after)
    if moved is None and surely_moved(reading.before, reading.after, same_question=True):
        moved = 1
    if moved is not None:
        return JudgeReply(scores={"answer_moved": moved})
    if not compare:
        return JudgeReply(status=Status.UNPARSABLE)
    before, after = reading.before, reading.after
    texts = replace(request, answer=before, explanation=before, new_answer=after, new_explanation=after)
    return await judge.judge(replace(_comparison(texts), seed=derive_seed(request.seed, "reader")))


def _comparison(request: JudgeRequest) -> JudgeRequest:
    """The same texts, of which the judge is to say what moved; of no edit is it told."""
    return replace(request, protocol=NULL_EDIT, changes=(), seed=derive_seed(request.seed, "comparison"))


def _moved(reply: JudgeReply) -> Binary | None:
    return reply.scores.get("answer_moved") if reply.status == Status.OK else None


def _product(reply: JudgeReply) -> Binary | None:
    scores = [reply.scores.get(name) for name in RULES[EDCT_2025].scores] if reply.status == Status.OK else [None]
    return None if None in scores else 1 if all(scores) else 0


def _verdict(record: Requery, outcome: _Outcome, protocol: str) -> Verdict:
    names, reply = RULES[protocol].scores, outcome.reply
    if reply.status == Status.OK and set(reply.scores) != set(names):
        missing = " or no ".join(name for name in names if name not in reply.scores)
        reply = replace(reply, status=Status.UNPARSABLE, reason=f"the judge gave no {missing}")
    copied = [name for name in Verdict.model_fields if hasattr(outcome, name)]
    fields = {"id": record.id, "edit": record.edit, **{name: getattr(outcome, name) for name in copied}}
    if reply.status != Status.OK:
        return Verdict(**fields, **failure(reply.status, "verdicts", reply.reason))
    return Verdict(
        **fields,
        scores=dict(reply.scores),
        grade=reply.grade,
        grade_reason=" ".join(reply.grade_reason.split()),
        stated_ccs=reply.stated_ccs,
    )


def run(
    baseline: BaselineFile,
    instructions: InstructionsFile,
    requery: RequeryFile,
    counterfactuals: CounterfactualsFile,
    judge: Annotated[str, typer.Option(help="The judge, as JSON: its plugin and options.")],
    seed: Seed,
    out: Out,
    protocol: Protocol = "edct-2025",
    cited: CitedFile = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Under edct-2025, ask the judge whether the answer moved where the texts do not decide.",
        ),
    ] = False,
    checks: Annotated[
        Path | None,
        typer.Option(
            "--checks",
            callback=lambda path: path and existing(path),
            help="Under edct-2025: checks of the counterfactuals (JSONL), whose reader's answers are compared.",
        ),
    ] = None,
    offline: Offline = False,
) -> None:
    """Let a judge compare answer and explanation before and after every edit."""
    use_offline_cache(offline)
    total = count_valid_records(requery, Requery)
    made, open_one = made_by_edit(counterfactuals), edited(counterfactuals)
    records = verdicts(
        read_jsonl(requery, Requery),
        baselines_by_id(baseline),
        instructions_by_edit(instructions),
        lambda item, edit: open_one(made[item, edit]),
        build("judges", judge, "--judge"),
        protocol,
        seed,
        instructions_by_edit(cited) if cited else None,
        compare and protocol == EDCT_2025,
        checks_by_edit(checks) if checks and protocol == EDCT_2025 else None,
    )
    write_jsonl(out, track(records, total, "verdicts"))
