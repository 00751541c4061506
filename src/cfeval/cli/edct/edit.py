"""Let an editor apply every instruction to its original image."""

from typing import Annotated

import typer

from cfeval.cli.common import (
    Archive,
    InstructionsFile,
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
from cfeval.io.gallery import gallery
from cfeval.io.progress import track
from cfeval.io.records import read_jsonl
from cfeval.records.edct import Instruction
from cfeval.studies.edct.counterfactuals import counterfactuals


def run(
    samples: SamplesFile,
    instructions: InstructionsFile,
    editor: Annotated[str, typer.Option(help="The editor, as JSON: its backend and options.")],
    seed: Seed,
    out: Out,
    protocol: Protocol = "edct-2025",
    offline: Offline = False,
    archive: Archive = False,
) -> None:
    """Let an editor apply every instruction to its original image."""
    heed(offline)
    total, wanted = sound(instructions, Instruction), read_jsonl(instructions, Instruction)
    model = build_if_asked("editors", editor, "--editor", protocol)
    made = counterfactuals(wanted, samples_by_id(samples), originals(samples), model, protocol, seed)
    with gallery(out, archive=archive) as add:
        for record, pictures in track(made, total, "counterfactuals"):
            add(record, pictures)
