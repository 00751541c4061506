"""Stage 4b, consistency: a judge compares the texts before and after the edit (EDCT 2025, Section 3, Appendix A).

In a chain it is told all edits so far (EDCT-Bench 2026). A judge that looks at the edited image is told none, and
neither is the judge of a control: nothing that is cited was changed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Annotated

import typer

from cfeval.core.cli_options import Out, Seed, build, count_valid_records
from cfeval.core.images import Picture
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import Status, failure, map_ok, propagated
from cfeval.core.sampling import derive_seed
from cfeval.core.streams import ByKey
from cfeval.edct.files import (
    BaselineFile,
    CounterfactualsFile,
    InstructionsFile,
    Protocol,
    RequeryFile,
    baselines_by_id,
    edited,
    instructions_by_edit,
    made_by_edit,
)
from cfeval.edct.interfaces import Change, Judge, JudgeReply, JudgeRequest
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.records import Baseline, Instruction, Requery, Verdict
from cfeval.edct.stages.edits import ByEdit, earlier
from cfeval.inference.batching import map_requests
from cfeval.inference.remote.settings import Offline, use_offline_cache

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

    for record, reply in map_ok(requeries, lambda sound: map_requests(sound, request, judge.judge, BATCH)):
        yield (
            _verdict(record, reply, protocol)
            if reply
            else Verdict(id=record.id, edit=record.edit, **propagated(record))
        )


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
        seed=derive_seed(seed, record.id, record.edit, "verdict"),
        protocol=protocol,
    )


def _verdict(record: Requery, reply: JudgeReply, protocol: str) -> Verdict:
    names = RULES[protocol].scores
    if reply.status == Status.OK and set(reply.scores) != set(names):
        missing = " or no ".join(name for name in names if name not in reply.scores)
        reply = replace(reply, status=Status.UNPARSABLE, reason=f"the judge gave no {missing}")
    said = {"id": record.id, "edit": record.edit, "completion": reply.completion, "calls": reply.calls}
    if reply.status != Status.OK:
        return Verdict(**said, **failure(reply.status, "verdicts", reply.reason))
    return Verdict(
        **said,
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
    offline: Offline = False,
) -> None:
    """Let a judge compare answer and explanation before and after every edit."""
    use_offline_cache(offline)
    total = count_valid_records(requery, Requery)
    made, open_one = made_by_edit(counterfactuals), edited(counterfactuals)
    found = verdicts(
        read_jsonl(requery, Requery),
        baselines_by_id(baseline),
        instructions_by_edit(instructions),
        lambda item, edit: open_one(made[item, edit]),
        build("judges", judge, "--judge"),
        protocol,
        seed,
    )
    write_jsonl(out, track(found, total, "verdicts"))
