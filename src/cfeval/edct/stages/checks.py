"""Checks of the counterfactuals, whoever made them: was the edit made as told, and how much of the image changed?

A second model, the reader, may answer the item's question about the original and the edited image: where its answer
stays, an edit may have failed in a way that no verifier sees.
"""

from asyncio import gather
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from cfeval.core.cli_options import Archive, Out, PromptFolder, Seed, build, count_valid_records
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl
from cfeval.core.progress import track
from cfeval.core.records import Status, map_ok, propagated
from cfeval.core.sampling import derive_seed
from cfeval.core.shards import atomic_records_with_images
from cfeval.core.streams import ByKey
from cfeval.datasets.sample import Sample, SamplesFile, originals, samples_by_id
from cfeval.edct.answers import names
from cfeval.edct.files import (
    CounterfactualsFile,
    InstructionsFile,
    Protocol,
    conversation_prompts,
    edited,
    instructions_by_edit,
    made_by_edit,
)
from cfeval.edct.interfaces import Verifier, VerifyReply, VerifyRequest
from cfeval.edct.metrics import changed_share
from cfeval.edct.protocols.rules import EDCT_2025, RULES
from cfeval.edct.records import Check, Counterfactual, Instruction, Reading
from cfeval.edct.stages.edits import DECIMALS, ByEdit, base_of, earlier, positives, verification
from cfeval.inference.batching import map_requests
from cfeval.inference.chat import ChatMessage, ChatModel, ChatRequest
from cfeval.inference.prompts import fill
from cfeval.inference.remote.settings import Offline, use_offline_cache

BATCH = 64
# Number of previous items among which another instruction is looked for.
PREVIOUS = 20
ImageOf = Callable[[Counterfactual], Image]
# So rare in images that one which no text of an item names is not in its image.
THINGS = (
    "lighthouse",
    "hot-air balloon",
    "violin",
    "camel",
    "anchor",
    "chessboard",
    "windmill",
    "telescope",
    "peacock",
    "saxophone",
    "igloo",
    "scarecrow",
)
# An edit; a sham edit, and an edit of a thing that is not there, where the verifier is shown one.
Requests = tuple[VerifyRequest, VerifyRequest | None, VerifyRequest | None]
# A verifier's replies about these, what the reader answers, and the changed share of pixels.
Replies = tuple[VerifyReply | None, VerifyReply | None, VerifyReply | None, Reading | None, float]
Checked = tuple[Check, Mapping[str, Image]]


def checks(
    counterfactuals: Iterable[Counterfactual],
    samples: ByKey[str, Sample],
    instructions: ByEdit,
    base_of: ImageOf,
    edited_of: ImageOf,
    verifier: Verifier | None,
    protocol: str,
    seed: int,
    every: int = 1,
    reader: "Reader | None" = None,
) -> Iterator[Checked]:
    """Check every counterfactual, in order; without a verifier only the changed area is measured.

    Args:
        base_of: the image that an edit was applied to (`cfeval.edct.stages.edits.base_of`).
        edited_of: the image that came of it.
        verifier: who checks; under `null-edit` and `blank-image`, where nobody was told an edit, nobody does.
        every: for one cited edit in this many, on average, the verifier is also shown a sham edit, and for one in twice
            as many an edit of a thing that is not in the image.

    Yields:
        Each record with the images that show what was found, by their paths.
    """
    active_verifier = verifier if RULES[protocol].written else None
    previous: deque[Instruction] = deque(maxlen=PREVIOUS)

    def requests(record: Counterfactual) -> Requests:
        instruction = instructions[record.id, record.edit]
        made = as_made(record, instruction)
        if active_verifier is None or protocol != EDCT_2025:
            return made, None, None
        shams = derive_seed(seed, record.id, "sham-check") % every == 0
        absent = derive_seed(seed, record.id, "absent-thing") % (2 * every) == 0
        other = next(
            (old for old in previous if old.positive != instruction.positive and old.concept != instruction.concept),
            None,
        )
        previous.appendleft(instruction)
        texts = [samples[record.id].question, *(instruction.cited or ())]
        texts += [instruction.positive, instruction.negative, instruction.concept]
        return made, _sham(made, other) if shams else None, _of_absent_thing(made, texts) if absent else None

    def as_made(record: Counterfactual, instruction: Instruction) -> VerifyRequest:
        return VerifyRequest(
            item=record.id,
            original=base_of(record),
            edited=edited_of(record),
            positive=instruction.positive,
            metadata=samples[record.id].metadata,
            negative=instruction.negative,
            concept=instruction.concept,
            before=positives(earlier(record.id, record.edit, instructions, protocol)),
            seed=derive_seed(seed, record.id, record.edit, "check"),
            edit=record.edit,
        )

    async def verify(shown: Requests) -> Replies:
        request, *_ = shown
        reply, sham, absent = [
            await active_verifier.verify(shown_edit) if active_verifier and shown_edit else None for shown_edit in shown
        ]
        reading = None
        if reader is not None and protocol == EDCT_2025 and not (reply and reply.verified == 0):
            question = samples[request.item].question
            reading = await reader.read(request.item, question, request.original, request.edited)
        return reply, sham, absent, reading, changed_share(request.original.pixels, request.edited.pixels)

    for record, check in map_ok(counterfactuals, lambda sound: map_requests(sound, requests, verify, BATCH)):
        yield _check(record, check) if check else (Check(id=record.id, edit=record.edit, **propagated(record)), {})


@dataclass(frozen=True)
class Reader:
    """A second model that answers the questions; `prompt` may name {question}.

    The request about an original is the same whichever target's edit is checked, so that it is paid for once.
    """

    model: ChatModel
    prompt: str
    seed: int

    async def read(self, item: str, question: str, original: Image, edited: Image) -> Reading:
        """Its answers about both images."""
        turns = [ChatMessage("user", fill(self.prompt, question=question), image) for image in (original, edited)]
        seed = derive_seed(self.seed, item, "reader")
        before, after = await gather(*(self.model.generate(ChatRequest(item, (turn,), seed)) for turn in turns))
        failed = next((reply for reply in (before, after) if reply.status != Status.OK or not reply.text.strip()), None)
        return Reading(
            before=before.text.strip() if before.status == Status.OK else "",
            after=after.text.strip() if after.status == Status.OK else "",
            reason=f"{failed.status}: {failed.reason or 'empty answer'}" if failed else "",
            calls=tuple(dict.fromkeys((*before.calls, *after.calls))),
        )


def _sham(request: VerifyRequest, other: Instruction | None) -> VerifyRequest:
    """A sham edit: half of the time the original encoded anew, else this edit under another item's instruction.

    A verifier that only checks whether something changed rejects the first kind and accepts the second.
    """
    seed = derive_seed(request.seed, "sham")
    if other is None or seed % 2:
        return replace(request, edited=request.original.reencoded(), seed=seed)
    return replace(request, positive=other.positive, negative=other.negative, concept=other.concept, seed=seed)


def _of_absent_thing(request: VerifyRequest, texts: Sequence[str]) -> VerifyRequest:
    """An edit of a thing that is not in the image, which was encoded anew: whoever looks does not find the thing."""
    seed = derive_seed(request.seed, "absent-thing")
    unnamed = [thing for thing in THINGS if not any(names(text, thing) for text in texts)]
    thing = unnamed[seed % len(unnamed)]
    positive = f"Make the {thing} bright green. Leave all else as it is."
    unedited = replace(request, edited=request.original.reencoded(), seed=seed)
    return replace(unedited, positive=positive, negative="", concept=thing)


_NOT_LOOKED_AT = "the image changed where it should; nobody looked at what it shows there now"


def as_evidence(reply: VerifyReply) -> VerifyReply:
    """What a reply shows of an edit: from a verifier that looks at places only, an acceptance shows nothing."""
    return reply if reply.content or not reply.verified else replace(reply, verified=None, reason=_NOT_LOOKED_AT)


def _check(record: Counterfactual, replies: Replies) -> Checked:
    reply, sham, absent, reading, share = replies
    finding, images = verification(f"{record.id}-{record.edit}", as_evidence(reply)) if reply else (None, {})
    sham_found, absent_thing = [
        verification("", replace(shown_reply, images={}))[0] if shown_reply else None for shown_reply in (sham, absent)
    ]
    check = Check(
        id=record.id,
        edit=record.edit,
        found=finding,
        sham=sham_found,
        absent_thing=absent_thing,
        reader=reading,
        gate_absent=record.attempts[-1].found.absent if record.attempts else None,
        changed_share=round(share, DECIMALS),
    )
    return check, images


def run(
    samples: SamplesFile,
    instructions: InstructionsFile,
    counterfactuals: CounterfactualsFile,
    seed: Seed,
    out: Out,
    verifier: Annotated[
        str, typer.Option(help="The verifier, as JSON; empty: only the changed area is measured.")
    ] = "",
    protocol: Protocol = "edct-2025",
    sham_every: Annotated[
        int,
        typer.Option(
            min=1,
            help="Also show the verifier a sham edit, for one cited edit in this many, and for one in twice as many "
            "an edit of a thing that is not in the image.",
        ),
    ] = 1,
    reader: Annotated[
        str, typer.Option(help="A second model that answers the question about cited edits, as JSON; empty: nobody.")
    ] = "",
    prompts: PromptFolder = "",
    offline: Offline = False,
    archive: Archive = False,
) -> None:
    """Check every counterfactual: is the edit right, is the rest unchanged, how much of the image moved?"""
    use_offline_cache(offline)
    total = count_valid_records(counterfactuals, Counterfactual)
    by_id, open_one = samples_by_id(samples), edited(counterfactuals)
    records = checks(
        read_jsonl(counterfactuals, Counterfactual),
        by_id,
        instructions_by_edit(instructions),
        base_of(made_by_edit(counterfactuals), by_id, originals(samples), open_one, protocol),
        open_one,
        build("verifiers", verifier, "--verifier") if verifier else None,
        protocol,
        seed,
        sham_every,
        Reader(build("chat", reader, "--reader"), conversation_prompts(prompts)[0], seed) if reader else None,
    )
    with atomic_records_with_images(out, archive=archive) as add:
        for record, images in track(records, total, "checks"):
            add(record, images)
