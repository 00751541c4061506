"""The images that counterfactuals are made of: some of every source class (DBVCE, Section 4)."""

from collections.abc import Iterator, Sequence

from cfeval.backends.image_sets.base import ImageSet
from cfeval.io.pictures import Picture
from cfeval.records.vce import SourceImage

Filed = tuple[SourceImage, Picture]


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
    for found in image_set.images(labels, count, size, seed):
        record = SourceImage(
            id=found.id, label=found.label, number=numbers[found.label], image=found.picture.ref(f"{found.id}.png")
        )
        numbers[found.label] += 1
        yield record, found.picture
