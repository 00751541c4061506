"""Stage 2, concept extraction: what the explanation cites, and the edit that changes it (EDCT 2025, Section 3)."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cfeval.backends.writers.base import Writer, WriteReply, WriteRequest
from cfeval.records.common import Status
from cfeval.records.edct import Baseline, Instruction
from cfeval.seeds import derive
from cfeval.studies.edct.outcomes import carried, ended, work_through

BATCH = 256


def instructions(baselines: Iterable[Baseline], writer: Writer, protocol: str, seed: int) -> Iterator[Instruction]:
    """Write the edit instruction for every explanation, in order; k = 1 concept per explanation (Appendix B)."""

    def write(records: list[Baseline]) -> list[WriteReply]:
        return writer.write([_request(record, protocol, seed) for record in records])

    for record, reply in work_through(baselines, write, BATCH):
        yield _instruction(record.id, reply) if reply else Instruction(id=record.id, **carried(record))


def _request(record: Baseline, protocol: str, seed: int) -> WriteRequest:
    return WriteRequest(
        item=record.id,
        question=record.question,
        answer=record.answer,
        explanation=record.explanation,
        seed=derive(seed, record.id, "instruction"),
        protocol=protocol,
    )


def _instruction(item: str, reply: WriteReply) -> Instruction:
    if reply.status == Status.OK and not reply.edits:
        reply = replace(reply, status=Status.UNPARSABLE, reason="the writer named no concept")
    said = {"id": item, "raw": reply.raw, "calls": reply.calls}
    if reply.status != Status.OK:
        return Instruction(**said, **ended(reply.status, "instructions", reply.reason))
    edit = reply.edits[0]
    return Instruction(**said, concept=edit.concept, positive=edit.positive, negative=edit.negative)
