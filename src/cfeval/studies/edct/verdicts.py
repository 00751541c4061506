"""Stage 4b, consistency: a judge compares the texts before and after the edit (EDCT 2025, Section 3, Appendix A)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from cfeval.backends.judges.base import Judge, JudgeReply, JudgeRequest
from cfeval.records.common import Status
from cfeval.records.edct import Baseline, Instruction, Requery, Verdict
from cfeval.seeds import derive
from cfeval.studies.edct.outcomes import carried, ended, work_through

BATCH = 256


def verdicts(
    requeries: Iterable[Requery],
    baselines: Mapping[str, Baseline],
    instructions: Mapping[tuple[str, int], Instruction],
    judge: Judge,
    protocol: str,
    seed: int,
) -> Iterator[Verdict]:
    """Judge every re-query, in order."""

    def decide(records: list[Requery]) -> list[JudgeReply]:
        return judge.judge([_request(r, baselines[r.id], instructions[r.id, r.edit], protocol, seed) for r in records])

    for record, reply in work_through(requeries, decide, BATCH):
        yield _verdict(record, reply) if reply else Verdict(id=record.id, edit=record.edit, **carried(record))


def _request(record: Requery, before: Baseline, instruction: Instruction, protocol: str, seed: int) -> JudgeRequest:
    return JudgeRequest(
        item=record.id,
        answer=before.answer,
        explanation=before.explanation,
        positive=instruction.positive,
        negative=instruction.negative,
        new_answer=record.answer,
        new_explanation=record.explanation,
        seed=derive(seed, record.id, record.edit, "verdict"),
        protocol=protocol,
    )


def _verdict(record: Requery, reply: JudgeReply) -> Verdict:
    if reply.status == Status.OK and (reply.pcs is None or reply.ncc is None):
        reply = replace(reply, status=Status.UNPARSABLE, reason="the judge gave no PCS or no NCC")
    said = {"id": record.id, "edit": record.edit, "raw": reply.raw, "calls": reply.calls}
    if reply.status != Status.OK:
        return Verdict(**said, **ended(reply.status, "verdicts", reply.reason))
    return Verdict(**said, pcs=reply.pcs, ncc=reply.ncc, stated_ccs=reply.stated_ccs)
