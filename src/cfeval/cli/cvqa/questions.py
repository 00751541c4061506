"""File the pairs of a set of questions with their pictures, cut into shards by a hash of the id."""

from typing import Annotated

import typer

from cfeval.cli.common import Archive, Out, Seed, Shards, build
from cfeval.cli.cvqa.common import name_unusable
from cfeval.io.samples import as_record
from cfeval.io.shards import file_pictured
from cfeval.records.cvqa import Pair


def run(
    set_: Annotated[str, typer.Option("--set", help="The set of questions, as JSON: its backend and options.")],
    seed: Seed,
    out: Out,
    items: Annotated[int | None, typer.Option(min=1, help="Pairs at most; by default all.")] = None,
    shards: Shards = 1,
    archive: Archive = False,
) -> None:
    """File the pairs of a set of questions with their pictures, cut into shards by a hash of the id.

    A row that cannot be used (no image, malformed) is named in one line and left out; the rest goes on, and the number
    of those left out is told.
    """
    source = build("question_sets", set_, "--set")
    filed = ((as_record(raw, Pair), raw.picture) for raw in source.pairs(items, seed))
    items_ = ((pair.id, pair, picture, pair.image.path) for pair, picture in filed)
    file_pictured(out, items_, shards, archive)
    name_unusable(source.skipped)
