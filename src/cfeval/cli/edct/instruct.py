"""Let a writer find the cited concept in every explanation and write the edit that changes it."""

from typing import Annotated

import typer

from cfeval.cli.common import BaselineFile, Offline, Out, Protocol, Seed, baselines_by_id, build, heed
from cfeval.io.progress import track
from cfeval.io.records import write_jsonl
from cfeval.studies.edct.instructions import instructions


def run(
    baseline: BaselineFile,
    writer: Annotated[str, typer.Option(help="The writer, as JSON: its backend and options.")],
    seed: Seed,
    out: Out,
    protocol: Protocol = "edct-2025",
    offline: Offline = False,
) -> None:
    """Let a writer find the cited concept in every explanation and write the edit that changes it."""
    heed(offline)
    explained = baselines_by_id(baseline).values()
    written = instructions(explained, build("writers", writer, "--writer"), protocol, seed)
    write_jsonl(out, track(written, len(explained), "instructions"))
