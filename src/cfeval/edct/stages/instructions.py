"""Stage 2, concept extraction: what the explanation cites, and the edit that changes it (EDCT 2025, Section 3).

The controls edit nothing (`null-edit`, `editor-null`), something that the explanation does not cite (`uncited-edit`),
or all there is (`blank-image`). Not every item need have a control: which ones do is drawn by their ids. A writer lists
all that an explanation cites, or leaves out; what is edited is drawn from it by lot, not chosen by the writer.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from typing import Annotated

import typer

from cfeval.core.cli_options import Out, Seed, count_valid_records, from_json
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import Status, failed, failure, map_ok, propagated
from cfeval.core.sampling import derive_seed
from cfeval.core.streams import ByKey
from cfeval.datasets.sample import Sample, SamplesFile, originals, samples_by_id
from cfeval.edct.files import BaselineFile, Protocol, build_if_asked
from cfeval.edct.interfaces import Edit, Writer, WriteReply, WriteRequest
from cfeval.edct.protocols.rules import EDCT_2025, RULES, listed
from cfeval.edct.records import Baseline, Instruction
from cfeval.inference.batching import map_requests
from cfeval.inference.remote.settings import Offline, use_offline_cache

BATCH = 256
# Concept and instruction under the protocols that ask no writer.
NO_WRITER = {
    "none": ("nothing", "Change nothing."),
    "nothing": ("nothing", "Change nothing at all: return this image exactly as it is."),
    "all": ("everything", "Show a uniform image instead."),
}
ImageOf = Callable[[Sample], Image]


def instructions(
    baselines: Iterable[Baseline],
    samples: ByKey[str, Sample],
    image_of: ImageOf,
    writer: Writer | None,
    protocol: str,
    seed: int,
    edits: int = 1,
    every: int = 1,
    objects: int = 1,
) -> Iterator[Instruction]:
    """Write the edit instructions for every explanation, in order.

    Args:
        baselines: what was said of the originals.
        image_of: opens the image of a sample.
        edits: at most so many an explanation, where the protocol has several (Appendix B: one).
        every: one item in so many, on average, is taken; whether one is depends on its id, the protocol and the seed.
        objects: so many uncited objects of an item are drawn.
    """
    baselines = (record for record in baselines if derive_seed(seed, record.id, protocol, "taken") % every == 0)
    if writer is None or not RULES[protocol].written:
        concept, positive = NO_WRITER[RULES[protocol].edits]
        for record in baselines:
            fields = propagated(record) if failed(record) else {"concept": concept, "positive": positive}
            yield Instruction(id=record.id, **fields)
        return

    def request(record: Baseline) -> WriteRequest:
        sample = samples[record.id] if RULES[protocol].edits == "uncited" else None
        return WriteRequest(
            item=record.id,
            question=record.question,
            answer=record.answer,
            explanation=record.explanation,
            seed=derive_seed(seed, record.id, "instruction"),
            edits=listed(protocol, edits),
            protocol=protocol,
            image=image_of(sample) if sample else None,
            metadata=sample.metadata if sample else None,
        )

    for record, reply in map_ok(baselines, lambda sound: map_requests(sound, request, writer.write, BATCH)):
        if reply is None:
            yield Instruction(id=record.id, **propagated(record))
        else:
            yield from _instructions(record.id, reply, protocol, derive_seed(seed, record.id, "drawn"), objects)


def _drawn(reply: WriteReply, protocol: str, seed: int, objects: int) -> list[tuple[Edit, int | None]]:
    """The edits that are made, in the writer's order, each with the number of things that it was drawn from."""
    if protocol == EDCT_2025:
        pools = [(list(reply.edits), 1)]
    elif RULES[protocol].edits == "uncited":
        background = [edit for edit in reply.edits if edit.evidence == "background"]
        pools = [([edit for edit in reply.edits if edit not in background], objects), (background, 1)]
    else:
        return [(edit, None) for edit in reply.edits]
    number = {
        edit: len(pool) if reply.lists_all and edit.evidence != "background" else None
        for pool, many in pools
        for edit in sorted(pool, key=lambda edit: derive_seed(seed, edit.concept))[:many]
    }
    return [(edit, number[edit]) for edit in reply.edits if edit in number]


def _instructions(item: str, reply: WriteReply, protocol: str, seed: int, objects: int) -> Iterator[Instruction]:
    if reply.status == Status.OK and not reply.edits:
        reply = replace(reply, status=Status.UNPARSABLE, reason="the writer named no concept")
    copied = ("cited", "absent", "implied_blank", "completion", "calls")
    shared = {"id": item, **{name: getattr(reply, name) for name in copied}}
    if reply.status != Status.OK:
        yield Instruction(**shared, **failure(reply.status, "instructions", reply.reason))
        return
    for number, (edit, drawn_from) in enumerate(_drawn(reply, protocol, seed, objects), start=1):
        yield Instruction(edit=number, drawn_from=drawn_from, **asdict(edit), **shared)


def run(
    samples: SamplesFile,
    baseline: BaselineFile,
    writer: Annotated[str, typer.Option(help="The writer, as JSON: its plugin and options.")],
    seed: Seed,
    out: Out,
    protocol: Protocol = "edct-2025",
    edits: Annotated[int, typer.Option(min=1, help="At most so many edits an item, where there may be several.")] = 1,
    one_item_in: Annotated[
        str, typer.Option(help='Take one item in so many, by protocol, as JSON: {"blank-image": 4}; else every item.')
    ] = "{}",
    objects: Annotated[
        int, typer.Option(min=1, help="So many objects that the explanation does not cite are drawn and edited.")
    ] = 1,
    offline: Offline = False,
) -> None:
    """Let a writer find the cited concept in every explanation and write the edit that changes it."""
    use_offline_cache(offline)
    total, explained, by_id = (
        count_valid_records(baseline, Baseline),
        read_jsonl(baseline, Baseline),
        samples_by_id(samples),
    )
    model = build_if_asked("instruction_writers", writer, "--writer", protocol)
    every = from_json(one_item_in, dict[str, int], "--one-item-in").get(protocol, 1)
    written = instructions(explained, by_id, originals(samples), model, protocol, seed, edits, every, objects)
    write_jsonl(out, track(written, total, "instructions"))
