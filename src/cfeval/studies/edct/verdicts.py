"""Stage 4b, consistency: a judge compares the texts before and after the edit (EDCT 2025, Section 3, Appendix A).

In a chain it is told all edits so far (EDCT-Bench 2026). A judge that looks at the edited image is told none, and
neither is the judge of a control: nothing that is cited was changed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from cfeval.backends.judges.base import Change, Judge, JudgeReply, JudgeRequest
from cfeval.backends.serving import served
from cfeval.io.pictures import Picture
from cfeval.protocols.rules import RULES
from cfeval.records.common import Status
from cfeval.records.edct import Baseline, Instruction, Requery, Verdict
from cfeval.records.outcomes import carried, ended, work_through
from cfeval.seeds import derive
from cfeval.streams import ByKey
from cfeval.studies.edct.chains import ByEdit, earlier

BATCH = 256


def verdicts(
    requeries: Iterable[Requery],
    baselines: ByKey[str, Baseline],
    instructions: ByEdit,
    edited_of: Callable[[str, int], Picture],
    judge: Judge,
    protocol: str,
    seed: int,
) -> Iterator[Verdict]:
    """Judge every re-query, in order; `edited_of` opens the edited image of an item and edit."""

    def request(record: Requery) -> JudgeRequest:
        texts = _request(record, baselines[record.id], _told(record, instructions, protocol), protocol, seed)
        if not judge.needs_picture:
            return texts
        question = baselines[record.id].question
        return replace(texts, changes=(), question=question, picture=edited_of(record.id, record.edit))

    for record, reply in work_through(requeries, lambda sound: served(judge, sound, request, judge.judge, BATCH)):
        yield _verdict(record, reply, protocol) if reply else Verdict(id=record.id, edit=record.edit, **carried(record))


def _told(record: Requery, instructions: ByEdit, protocol: str) -> list[Instruction]:
    """The instructions that the judge is told, in order."""
    if RULES[protocol].edits != "cited":
        return []
    return [*earlier(record.id, record.edit, instructions, protocol), instructions[record.id, record.edit]]


def _request(record: Requery, before: Baseline, told: list[Instruction], protocol: str, seed: int) -> JudgeRequest:
    return JudgeRequest(
        item=record.id,
        answer=before.answer,
        explanation=before.explanation,
        changes=tuple(Change(one.positive, one.negative) for one in told),
        new_answer=record.answer,
        new_explanation=record.explanation,
        seed=derive(seed, record.id, record.edit, "verdict"),
        protocol=protocol,
    )


def _verdict(record: Requery, reply: JudgeReply, protocol: str) -> Verdict:
    names = RULES[protocol].scores
    if reply.status == Status.OK and set(reply.scores) != set(names):
        missing = " or no ".join(name for name in names if name not in reply.scores)
        reply = replace(reply, status=Status.UNPARSABLE, reason=f"the judge gave no {missing}")
    said = {"id": record.id, "edit": record.edit, "raw": reply.raw, "calls": reply.calls}
    if reply.status != Status.OK:
        return Verdict(**said, **ended(reply.status, "verdicts", reply.reason))
    return Verdict(
        **said,
        scores=dict(reply.scores),
        grade=reply.grade,
        grade_reason=" ".join(reply.grade_reason.split()),
        stated_ccs=reply.stated_ccs,
    )
