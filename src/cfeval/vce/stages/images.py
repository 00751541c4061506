"""The images that counterfactuals are made of: some of every source class (DBVCE, Section 4)."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from cfeval.core.cli_options import Archive, Out, Seed, Shards, build
from cfeval.core.images import Image
from cfeval.core.shards import file_with_images
from cfeval.datasets.sample import left_out_by, name_left_out
from cfeval.vce.interfaces import ImageSet
from cfeval.vce.records import SourceImage

Filed = tuple[SourceImage, Image]


def images(image_set: ImageSet, labels: Sequence[str], count: int, size: int, seed: int) -> Iterator[Filed]:
    """The first `count` images of each class, class by class, numbered from 0 in each.

    Args:
        image_set: where they come from.
        labels: the classes.
        count: images of each.
        size: height and width, pixels.
        seed: of the study.
    """
    numbers = dict.fromkeys(labels, 0)
    for labelled in image_set.images(labels, count, size, seed):
        record = SourceImage(
            id=labelled.id,
            label=labelled.label,
            number=numbers[labelled.label],
            image=labelled.image.ref(f"{labelled.id}.png"),
        )
        numbers[labelled.label] += 1
        yield record, labelled.image


def run(
    image_set: Annotated[str, typer.Option(help="The set of images, as JSON: its plugin and options.")],
    label: Annotated[list[str], typer.Option(help="A class to take images of; once for each.")],
    count: Annotated[int, typer.Option(min=1, help="Images of each class.")],
    size: Annotated[int, typer.Option(min=8, help="Height and width of the images, pixels.")],
    seed: Seed,
    out: Out,
    shards: Shards = 1,
    archive: Archive = False,
) -> None:
    """File the images that counterfactuals are to be made of: some of every source class."""
    source = build("image_sets", image_set, "--image-set")
    records = images(source, label, count, size, seed)
    items = ((record.id, record, {record.image.path: image}) for record, image in records)
    file_with_images(out, items, shards, archive, lambda: left_out_by(source))
    name_left_out(left_out_by(source))
