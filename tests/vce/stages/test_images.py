"""The source images: numbered in each class, the same for the same seed."""

import pytest

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.vce.stages.images import images

WORLD = registry.build("image_sets", {"plugin": "world"})


def test_images_are_numbered_in_each_class_and_named_by_their_files() -> None:
    found = list(images(WORLD, ["red circle", "blue star"], 3, 32, seed=4))
    assert [(record.label, record.number) for record, _ in found] == [
        (label, number) for label in ("red circle", "blue star") for number in range(3)
    ]
    assert len({record.id for record, _ in found}) == len({image.sha256 for _, image in found}) == 6
    for record, image in found:
        assert record.image == image.ref(f"{record.id}.png")


def test_neither_further_classes_nor_further_images_change_the_first() -> None:
    few = dict(images(WORLD, ["blue star"], 2, 32, seed=4))
    more = dict(images(WORLD, ["red circle", "blue star"], 3, 32, seed=4))
    assert few.items() <= more.items()
    assert not set(few.values()) & {image for _, image in images(WORLD, ["blue star"], 2, 32, seed=5)}


def test_cells_have_one_size() -> None:
    with pytest.raises(InputError, match="cells are 32 pixels wide, but the denoiser wants 64"):
        list(images(WORLD, ["red circle"], 1, 64, seed=4))
