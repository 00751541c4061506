"""The images of a counterfactual as the metrics see them: those of the files, or those of DBVCE's reference code."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from cfeval.errors import InputError
from cfeval.io.pictures import Picture
from cfeval.metrics.reference_images import wrapped_uint8

Images = npt.NDArray[np.float32]
"""(N, 3, H, W) in [−1, 1]; samples of a diffusion model may go a little beyond."""
Bytes = npt.NDArray[np.uint8]
"""(N, 3, H, W)."""
T = TypeVar("T", bound=np.generic)


class Shown(Protocol):
    """What has an id and a source image."""

    @property
    def id(self) -> str:
        """The id of the counterfactual."""

    @property
    def source_image(self) -> str:
        """The id of its original."""


@dataclass(frozen=True)
class Views:
    """Where images come from: originals by the id of the source image, the others by that of the counterfactual.

    Each is asked for when it is needed and not kept. `sample` is what the sampler returned, (3, H, W), float32, not
    clamped. Where it is given, everything is measured as by the reference code of DBVCE: on the sample instead of the
    picture, with images as they are for classifiers, and bytes that wrap around for Fréchet distances. The paper's
    definitions, without `sample`, take the picture that a user sees.
    """

    original: Callable[[str], Picture]
    counterfactual: Callable[[str], Picture]
    sample: Callable[[str], npt.NDArray[np.float32]] | None = None

    @property
    def reference(self) -> bool:
        """Whether measured as by the reference code."""
        return self.sample is not None

    def originals(self, records: Sequence[Shown]) -> Images:
        """The originals; InputError where their sizes differ."""
        pictures = [pixels_of(self.original(record.source_image)) for record in records]
        return from_bytes(stacked(pictures, [record.source_image for record in records]))

    def counterfactuals(self, records: Sequence[Shown]) -> Images:
        """The counterfactuals, or their samples; InputError where their sizes differ."""
        names = [record.id for record in records]
        if self.sample is not None:
            return stacked([np.asarray(self.sample(name), dtype=np.float32) for name in names], names)
        return from_bytes(stacked([pixels_of(self.counterfactual(name)) for name in names], names))

    def pairs(self, records: Sequence[Shown]) -> tuple[Images, Images]:
        """Originals and counterfactuals.

        Raises:
            InputError: an image has another size than the others; one line that names it.
        """
        before, after = self.originals(records), self.counterfactuals(records)
        if before.shape != after.shape:
            raise InputError(
                f"{records[0].id}: the counterfactual is {size_of(after)} and its original {size_of(before)} pixels; "
                "make the counterfactuals again from these originals"
            )
        return before, after

    def as_bytes(self, images: Images) -> Bytes:
        """What Fréchet distances see of images: the nearest bytes, or bytes that wrap around as in the reference."""
        return wrapped_uint8(images) if self.reference else nearest_bytes(images)


def nearest_bytes(images: Images) -> Bytes:
    """Images of [−1, 1] as bytes, rounded; what lies beyond is clamped."""
    found: Bytes = np.clip(np.rint((images + 1) * np.float32(127.5)), 0, 255).astype(np.uint8)
    return found


def pixels_of(picture: Picture) -> Bytes:
    """The pixels of a picture, (3, H, W)."""
    return np.ascontiguousarray(picture.pixels.transpose(2, 0, 1))


def from_bytes(pixels: Bytes) -> Images:
    """Pixels in [−1, 1], with the reference code's order of operations."""
    found: Images = pixels.astype(np.float32) / np.float32(255) * np.float32(2) - np.float32(1)
    return found


def size_of(images: npt.NDArray[np.generic]) -> str:
    """Height × width."""
    return " × ".join(map(str, images.shape[-2:]))


def stacked(images: Sequence[npt.NDArray[T]], names: Sequence[str]) -> npt.NDArray[T]:
    """Images of one size as one array; `names` are what errors call them.

    Raises:
        InputError: one has another size than the first.
    """
    for image, name in zip(images, names, strict=True):
        if image.shape != images[0].shape:
            raise InputError(
                f"{name}: an image of {size_of(image)} pixels among images of {size_of(images[0])}; "
                "images that are scored together must have one size"
            )
    return np.stack(images)
