"""Check every counterfactual: is the edit right, is the rest unchanged, how much of the image moved?"""

from typing import Annotated

import typer

from cfeval.cli.common import (
    Archive,
    CounterfactualsFile,
    InstructionsFile,
    Offline,
    Out,
    Protocol,
    SamplesFile,
    Seed,
    build,
    edited,
    heed,
    instructions_by_edit,
    made_by_edit,
    originals,
    samples_by_id,
    sound,
)
from cfeval.io.gallery import gallery
from cfeval.io.progress import track
from cfeval.io.records import read_jsonl
from cfeval.records.edct import Counterfactual
from cfeval.studies.edct.chains import base_of
from cfeval.studies.edct.checks import checks


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
    offline: Offline = False,
    archive: Archive = False,
) -> None:
    """Check every counterfactual: is the edit right, is the rest unchanged, how much of the image moved?"""
    heed(offline)
    total, by_id, open_one = sound(counterfactuals, Counterfactual), samples_by_id(samples), edited(counterfactuals)
    found = checks(
        read_jsonl(counterfactuals, Counterfactual),
        by_id,
        instructions_by_edit(instructions),
        base_of(made_by_edit(counterfactuals), by_id, originals(samples), open_one, protocol),
        open_one,
        build("verifiers", verifier, "--verifier") if verifier else None,
        protocol,
        seed,
    )
    with gallery(out, archive=archive) as add:
        for record, pictures in track(found, total, "checks"):
            add(record, pictures)
