"""Stage 3, counterfactual generation: the editor applies the instructions (EDCT 2025, Section 3).

Each to the original, or in a chain (EDCT-Bench 2026) to the result of the one before. `null-edit` only encodes the
image again, `editor-null` has the editor change nothing, and `blank-image` puts a uniform gray image in its place.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import typer

from cfeval.core.cli_options import Archive, Out, Seed, count_valid_records
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl
from cfeval.core.progress import track
from cfeval.core.records import Status, failed, failure, propagated
from cfeval.core.sampling import derive_seed
from cfeval.core.shards import atomic_records_with_images
from cfeval.core.streams import ByKey
from cfeval.datasets.sample import Sample, SamplesFile, originals, samples_by_id
from cfeval.edct.files import InstructionsFile, Protocol, build_if_asked
from cfeval.edct.interfaces import Editor, EditReply, EditRequest
from cfeval.edct.metrics import is_unedited
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.records import Counterfactual, Instruction
from cfeval.edct.stages.edits import attempts, by_item, positives
from cfeval.inference.batching import map_requests
from cfeval.inference.remote.settings import Offline, use_offline_cache

BATCH = 32
# Of 255: what a blank image shows; it has nothing of the original, its mean color included.
GRAY = 128
Images = Mapping[str, Image]
# A record and its images by path; the counterfactual itself comes first.
Made = tuple[Counterfactual, Images]
Apply = Callable[[EditRequest], Awaitable[EditReply]]


def counterfactuals(
    instructions: Iterable[Instruction],
    samples: ByKey[str, Sample],
    image_of: Callable[[Sample], Image],
    editor: Editor | None,
    protocol: str,
    seed: int,
) -> Iterator[Made]:
    """Edit the image of every instruction, in order; yields each record with its images.

    Under `null-edit` and `blank-image` there is no editor.
    """
    rules = RULES[protocol]
    apply = _editing(editor, protocol) if editor and rules.edited else _BY_RULE[rules.edits]

    def item(chain: list[Instruction]) -> tuple[Sample, Image, list[Instruction]]:
        sample = samples[chain[0].id]
        return sample, image_of(sample), chain

    async def edit(item: tuple[Sample, Image, list[Instruction]]) -> list[Made]:
        sample, original, chain = item
        made: list[Made] = []
        for step, record in enumerate(chain):
            own_seed = derive_seed(seed, record.id, record.edit, "edit")
            before, images = made[step - 1] if rules.chained and step else (None, {})
            if failed(record) or (before and failed(before)):
                end = _ended(record, before)
                made.append((Counterfactual(id=record.id, edit=record.edit, seed=own_seed, **end), {}))
                continue
            request = EditRequest(
                item=record.id,
                image=next(iter(images.values())) if before else original,
                positive=record.positive,
                negative=record.negative,
                seed=own_seed,
                concept=record.concept,
                metadata=sample.metadata,
                edit=record.edit,
                before=positives(chain[:step]) if before else (),
                nothing=rules.edits == "nothing",
            )
            made.append(_made(request, await apply(request)))
        return made

    for _, made in map_requests(by_item(instructions), item, edit, BATCH):
        yield from made


def _ended(record: Instruction, before: Counterfactual | None) -> dict[str, Any]:
    """Why an edit is not made: the instruction is missing, or the edit it would build on."""
    if failed(record) or before is None:
        return propagated(record)
    reason = before.reason if before.reason.startswith("edit ") else f"edit {before.edit} failed: {before.reason}"
    return propagated(before) | {"reason": reason}


def _made(request: EditRequest, reply: EditReply) -> Made:
    name = f"{request.item}-{request.edit}"
    images = {f"{name}.png": reply.image} if reply.image else {}
    tries, evidence = attempts(name, reply)
    made = Counterfactual(
        id=request.item,
        edit=request.edit,
        image=reply.image.ref(f"{name}.png") if reply.image else None,
        seed=request.seed,
        details=reply.details,
        attempts=tries,
        calls=reply.calls,
        **failure(reply.status, "counterfactuals", reply.reason),
    )
    return made, images | evidence


def _editing(editor: Editor, protocol: str) -> Apply:
    """What is missing in the image is a finding about the model only where the model cited it."""
    cited = RULES[protocol].edits == "cited"

    async def apply(request: EditRequest) -> EditReply:
        seen = request if editor.needs_metadata else replace(request, metadata=None)
        reply = _refuse_no_edit(seen, await editor.edit(seen))
        absent = reply.status == Status.CITATION_ABSENT and not cited
        return replace(reply, status=Status.EDIT_INVALID) if absent else reply

    return apply


async def _reencode(request: EditRequest) -> EditReply:
    return EditReply(request.image.reencoded(), {"edit": "re-encoded as JPEG 95"})


async def _blank(request: EditRequest) -> EditReply:
    return EditReply(Image.from_pixels(np.full_like(request.image.pixels, GRAY)), {"edit": "uniform gray"})


# What is done where there is no instruction, by what the protocol edits.
_BY_RULE: Mapping[str, Apply] = {"none": _reencode, "all": _blank}


def _refuse_no_edit(request: EditRequest, reply: EditReply) -> EditReply:
    """No image, or the same image but for noise where it was to change, is no counterfactual; and a failed edit has no
    image.
    """
    if reply.status != Status.OK:
        return replace(reply, image=None)
    if reply.image is None:
        return replace(reply, status=Status.NO_IMAGE, reason="the editor returned no image")
    height, width = request.image.pixels.shape[:2]
    if not request.nothing and is_unedited(request.image.pixels, reply.image.resized(width, height).pixels):
        return replace(reply, image=None, status=Status.EDIT_INVALID, reason="the image did not change")
    return reply


def run(
    samples: SamplesFile,
    instructions: InstructionsFile,
    editor: Annotated[str, typer.Option(help="The editor, as JSON: its plugin and options.")],
    seed: Seed,
    out: Out,
    protocol: Protocol = "edct-2025",
    offline: Offline = False,
    archive: Archive = False,
) -> None:
    """Let an editor apply every instruction to its original image."""
    use_offline_cache(offline)
    total, wanted = count_valid_records(instructions, Instruction), read_jsonl(instructions, Instruction)
    model = build_if_asked("editors", editor, "--editor", protocol)
    made = counterfactuals(wanted, samples_by_id(samples), originals(samples), model, protocol, seed)
    with atomic_records_with_images(out, archive=archive) as add:
        for record, images in track(made, total, "counterfactuals"):
            add(record, images)
