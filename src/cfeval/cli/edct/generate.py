"""Draw the samples of a data set and file them, cut into shards by a hash of the id."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.common import Archive, Out, Seed, Shards, build
from cfeval.io.samples import file_samples


def run(
    dataset: Annotated[str, typer.Option(help="The data set, as JSON: its backend and options.")],
    items: Annotated[int, typer.Option(min=1, help="How many samples.")],
    seed: Seed,
    out: Out,
    shards: Shards = 1,
    archive: Archive = False,
) -> None:
    """Draw the samples of a data set and file them, cut into shards by a hash of the id."""
    file_samples(Path(out), build("datasets", dataset, "--dataset").samples(items, seed), shards, archive)
