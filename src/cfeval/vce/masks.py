"""Masks that a user draws: in which part of an image a counterfactual may differ from it (part `mask: given`)."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cfeval.core.errors import InputError
from cfeval.core.images import Image
from cfeval.vce.plugins.image_sets import opened
from cfeval.vce.records import SourceImage

Mask = npt.NDArray[np.uint8]
"""(H, W), 1 where the image may change, else 0."""
_WHITE = 128


def masks_in(folder: Path, side: int) -> Callable[[SourceImage], Mask]:
    """How to open the mask of a source image: `ID.png`, `side` pixels high and wide, white where it may change."""

    def mask_of(image: SourceImage) -> Mask:
        path = folder / f"{image.id}.png"
        if not path.is_file():
            raise InputError(f"{path}: no mask for this image; draw one, white where the image may change")
        drawn = opened(path, gray=True)
        if drawn.pixels.shape[:2] != (side, side):
            raise InputError(f"{path}: the mask is {_size(drawn)}, but its image is {side}×{side}; make them equal")
        return as_mask(drawn, path)

    return mask_of


def check_fits(mask: Image, photo: Image, name: object) -> None:
    """Check that a mask is as large as the photograph that it is of; InputError where it is not."""
    if _size(mask) != _size(photo):
        raise InputError(f"{name}: the mask is {_size(mask)}, but the photo is {_size(photo)}; make them equal")


def as_mask(image: Image, name: object) -> Mask:
    """1 where an image is at least half as bright as white; InputError where nothing is."""
    mask: Mask = (image.pixels.mean(axis=2) >= _WHITE).astype(np.uint8)
    if not mask.any():
        raise InputError(f"{name}: nothing in the mask is white, so nothing could change; mark the part that may")
    return mask


def _size(image: Image) -> str:
    height, width = image.pixels.shape[:2]
    return f"{width}×{height}"
