"""File the images that counterfactuals are to be made of: some of every source class."""

from typing import Annotated

import typer

from cfeval.cli.common import Archive, Out, Seed, Shards, build
from cfeval.io.shards import file_pictured
from cfeval.studies.vce.images import images


def run(
    image_set: Annotated[str, typer.Option(help="The set of images, as JSON: its backend and options.")],
    label: Annotated[list[str], typer.Option(help="A class to take images of; once for each.")],
    count: Annotated[int, typer.Option(min=1, help="Images of each class.")],
    size: Annotated[int, typer.Option(min=8, help="Height and width of the images, pixels.")],
    seed: Seed,
    out: Out,
    shards: Shards = 1,
    archive: Archive = False,
) -> None:
    """File the images that counterfactuals are to be made of: some of every source class."""
    found = images(build("image_sets", image_set, "--image-set"), label, count, size, seed)
    items = ((record.id, record, picture, record.image.path) for record, picture in found)
    file_pictured(out, items, shards, archive)
