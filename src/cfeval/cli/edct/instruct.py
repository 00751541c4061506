"""Let a writer find the cited concept in every explanation and write the edit that changes it."""

from typing import Annotated

import typer

from cfeval.cli.common import (
    BaselineFile,
    Offline,
    Out,
    Protocol,
    SamplesFile,
    Seed,
    build_if_asked,
    heed,
    originals,
    samples_by_id,
    sound,
)
from cfeval.io.progress import track
from cfeval.io.records import read_jsonl, write_jsonl
from cfeval.records.edct import Baseline
from cfeval.studies.edct.instructions import instructions


def run(
    samples: SamplesFile,
    baseline: BaselineFile,
    writer: Annotated[str, typer.Option(help="The writer, as JSON: its backend and options.")],
    seed: Seed,
    out: Out,
    protocol: Protocol = "edct-2025",
    edits: Annotated[int, typer.Option(min=1, help="At most so many edits an item, where there may be several.")] = 1,
    offline: Offline = False,
) -> None:
    """Let a writer find the cited concept in every explanation and write the edit that changes it."""
    heed(offline)
    total, explained, by_id = sound(baseline, Baseline), read_jsonl(baseline, Baseline), samples_by_id(samples)
    model = build_if_asked("writers", writer, "--writer", protocol)
    written = instructions(explained, by_id, originals(samples), model, protocol, seed, edits)
    write_jsonl(out, track(written, total, "instructions"))
