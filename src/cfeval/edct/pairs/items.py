"""The items of a set of given pairs: both images of each in a drawn order, now and then the first of them again."""

from typing import Annotated

import typer

from cfeval.core.cli_options import Archive, Out, Seed, Shards, build
from cfeval.datasets.pair import file_pairs
from cfeval.datasets.sample import left_out_by, name_left_out


def run(
    pair_set: Annotated[str, typer.Option(help="The set of pairs, as JSON: its plugin and options.")],
    items: Annotated[int, typer.Option(min=1, help="How many pairs.")],
    seed: Seed,
    out: Out,
    every: Annotated[
        int, typer.Option(min=1, help="Of one pair in so many the image that comes first is asked about again.")
    ] = 2,
    shards: Shards = 1,
    archive: Archive = False,
) -> None:
    """File the images of given pairs as items, cut into shards by a hash of the pair's id."""
    source = build("pair_sets", pair_set, "--pair-set")
    file_pairs(out, source.pairs(items, seed), seed, every, shards, archive, lambda: left_out_by(source))
    name_left_out(left_out_by(source))
