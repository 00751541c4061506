"""Check every counterfactual: is the edit right, is the rest unchanged, how much of the image moved?"""

from typing import Annotated

import typer

from cfeval.cli.common import (
    CounterfactualsFile,
    InstructionsFile,
    Out,
    SamplesFile,
    build,
    edited,
    instructions_by_edit,
    originals,
    samples_by_id,
)
from cfeval.io.progress import track
from cfeval.io.records import read_jsonl, write_csv
from cfeval.records.edct import Check, Counterfactual
from cfeval.studies.edct.checks import checks


def run(
    samples: SamplesFile,
    instructions: InstructionsFile,
    counterfactuals: CounterfactualsFile,
    out: Out,
    verifier: Annotated[
        str, typer.Option(help="The verifier, as JSON; empty: only the changed area is measured.")
    ] = "",
) -> None:
    """Check every counterfactual: is the edit right, is the rest unchanged, how much of the image moved?"""
    made = list(read_jsonl(counterfactuals, Counterfactual))
    found = checks(
        made,
        samples_by_id(samples),
        instructions_by_edit(instructions),
        originals(samples),
        edited(counterfactuals),
        build("verifiers", verifier, "--verifier") if verifier else None,
    )
    write_csv(out, Check, track(found, len(made), "checks"))
