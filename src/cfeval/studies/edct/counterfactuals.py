"""Stage 3, counterfactual generation: the editor applies each instruction to the original (EDCT 2025, Section 3)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from cfeval.backends.editors.base import Editor, EditReply, EditRequest
from cfeval.io.pictures import Picture
from cfeval.records.common import Status
from cfeval.records.edct import Counterfactual, Instruction, Sample
from cfeval.seeds import derive
from cfeval.studies.edct.outcomes import carried, ended, work_through

BATCH = 64
Edited = tuple[Counterfactual, Picture | None]


def counterfactuals(
    instructions: Iterable[Instruction],
    samples: Mapping[str, Sample],
    picture_of: Callable[[Sample], Picture],
    editor: Editor,
    seed: int,
) -> Iterator[Edited]:
    """Edit the image of every instruction, in order; yields each record with its picture."""

    def edit(records: list[Instruction]) -> list[EditReply]:
        requests = [_request(record, samples[record.id], picture_of, editor, seed) for record in records]
        return [_refuse_no_edit(*pair) for pair in zip(requests, editor.edit(requests), strict=True)]

    for record, reply in work_through(instructions, edit, BATCH):
        draw = _seed(record, seed)
        if reply:
            yield _counterfactual(record, reply, draw)
        else:
            yield Counterfactual(id=record.id, edit=record.edit, seed=draw, **carried(record)), None


def _seed(record: Instruction, seed: int) -> int:
    return derive(seed, record.id, record.edit, "edit")


def _request(
    record: Instruction, sample: Sample, picture_of: Callable[[Sample], Picture], editor: Editor, seed: int
) -> EditRequest:
    return EditRequest(
        item=record.id,
        picture=picture_of(sample),
        positive=record.positive,
        negative=record.negative,
        seed=_seed(record, seed),
        concept=record.concept,
        scene=sample.scene if editor.needs_scene else None,
        edit=record.edit,
    )


def _counterfactual(record: Instruction, reply: EditReply, draw: int) -> Edited:
    made = Counterfactual(
        id=record.id,
        edit=record.edit,
        image=reply.picture.ref(f"{record.id}-{record.edit}.png") if reply.picture else None,
        seed=draw,
        details=reply.details,
        calls=reply.calls,
        **ended(reply.status, "counterfactuals", reply.reason),
    )
    return made, reply.picture


def _refuse_no_edit(request: EditRequest, reply: EditReply) -> EditReply:
    """No picture, or the same picture, is no counterfactual; and a failed edit has no picture."""
    if reply.status != Status.OK:
        return replace(reply, picture=None)
    if reply.picture is None:
        return replace(reply, status=Status.NO_IMAGE, reason="the editor returned no image")
    if np.array_equal(reply.picture.pixels, request.picture.pixels):
        return replace(reply, picture=None, status=Status.EDIT_INVALID, reason="the image did not change")
    return reply
