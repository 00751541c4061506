"""Stage 2, concept extraction: what the explanation cites, and the edit that changes it (EDCT 2025, Section 3).

The controls edit nothing (`null-edit`), or something that the explanation does not cite (`placebo-edit`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from cfeval.backends.serving import served
from cfeval.backends.writers.base import Writer, WriteReply, WriteRequest
from cfeval.io.pictures import Picture
from cfeval.protocols.rules import RULES
from cfeval.records.common import Status
from cfeval.records.edct import Baseline, Instruction, Sample
from cfeval.records.outcomes import carried, ended, failed, work_through
from cfeval.seeds import derive
from cfeval.streams import ByKey

BATCH = 256
NO_EDIT = "Change nothing."
PictureOf = Callable[[Sample], Picture]


def instructions(
    baselines: Iterable[Baseline],
    samples: ByKey[str, Sample],
    picture_of: PictureOf,
    writer: Writer | None,
    protocol: str,
    seed: int,
    edits: int = 1,
) -> Iterator[Instruction]:
    """Write the edit instructions for every explanation, in order; at most `edits` an explanation (Appendix B: one).

    Under `null-edit` there is no writer.
    """
    if writer is None or RULES[protocol].edits == "none":
        yield from (_no_edit(record) for record in baselines)
        return
    uncited = RULES[protocol].edits == "uncited"

    def request(record: Baseline) -> WriteRequest:
        texts = _request(record, protocol, seed, edits)
        return _with_image(texts, samples[record.id], picture_of) if uncited else texts

    for record, reply in work_through(baselines, lambda sound: served(writer, sound, request, writer.write, BATCH)):
        yield from _instructions(record.id, reply) if reply else [Instruction(id=record.id, **carried(record))]


def _no_edit(record: Baseline) -> Instruction:
    if failed(record):
        return Instruction(id=record.id, **carried(record))
    return Instruction(id=record.id, concept="nothing", positive=NO_EDIT)


def _request(record: Baseline, protocol: str, seed: int, edits: int) -> WriteRequest:
    return WriteRequest(
        item=record.id,
        question=record.question,
        answer=record.answer,
        explanation=record.explanation,
        seed=derive(seed, record.id, "instruction"),
        edits=edits if RULES[protocol].several else 1,
        protocol=protocol,
    )


def _with_image(request: WriteRequest, sample: Sample, picture_of: PictureOf) -> WriteRequest:
    return replace(request, picture=picture_of(sample), metadata=sample.metadata)


def _instructions(item: str, reply: WriteReply) -> Iterator[Instruction]:
    if reply.status == Status.OK and not reply.edits:
        reply = replace(reply, status=Status.UNPARSABLE, reason="the writer named no concept")
    if reply.status != Status.OK:
        yield Instruction(
            id=item, raw=reply.raw, calls=reply.calls, **ended(reply.status, "instructions", reply.reason)
        )
        return
    for number, edit in enumerate(reply.edits, start=1):
        yield Instruction(
            id=item,
            edit=number,
            concept=edit.concept,
            positive=edit.positive,
            negative=edit.negative,
            evidence=edit.evidence,
            raw=reply.raw,
            calls=reply.calls,
        )
