"""Let a judge compare answer and explanation before and after every edit."""

from typing import Annotated

import typer

from cfeval.cli.common import (
    BaselineFile,
    CounterfactualsFile,
    InstructionsFile,
    Offline,
    Out,
    Protocol,
    RequeryFile,
    Seed,
    baselines_by_id,
    build,
    edited,
    heed,
    instructions_by_edit,
    made_by_edit,
    sound,
)
from cfeval.io.progress import track
from cfeval.io.records import read_jsonl, write_jsonl
from cfeval.records.edct import Requery
from cfeval.studies.edct.verdicts import verdicts


def run(
    baseline: BaselineFile,
    instructions: InstructionsFile,
    requery: RequeryFile,
    counterfactuals: CounterfactualsFile,
    judge: Annotated[str, typer.Option(help="The judge, as JSON: its backend and options.")],
    seed: Seed,
    out: Out,
    protocol: Protocol = "edct-2025",
    offline: Offline = False,
) -> None:
    """Let a judge compare answer and explanation before and after every edit."""
    heed(offline)
    total = sound(requery, Requery)
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
