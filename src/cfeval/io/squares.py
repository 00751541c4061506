"""Square pictures of a size, cut out of images of any shape."""

import io

import numpy as np
from PIL import Image

from cfeval.errors import InputError
from cfeval.io.pictures import Picture

KEEP = 0.875
"""The share of the shorter side that evaluations on ImageNet keep."""


def middle(picture: Picture, size: int, share: float, name: object, enlarge: bool = False) -> Picture:
    """The middle of a picture as a square of `size` pixels a side, `share` of its shorter side long.

    As the evaluations on ImageNet do it: the shorter side becomes ⌊size / share⌋ (bicubic), then the middle is cut out.

    Raises:
        InputError: the square has fewer pixels than `size` a side, and `enlarge` does not allow that; names `name`.
    """
    with Image.open(io.BytesIO(picture.png)) as opened:
        image = opened.convert("RGB")
    shorter = int(size / share)
    if min(image.size) < shorter and not enlarge:
        raise InputError(
            f"{name}: {image.width} × {image.height} pixels are too few for a square of {size} "
            f"(the shorter side must have {shorter}); leave it out, or take a smaller size"
        )
    width, height = (shorter * side // min(image.size) for side in image.size)
    resized = image.resize((width, height), Image.Resampling.BICUBIC)
    top, left = round((height - size) / 2), round((width - size) / 2)
    return Picture.from_pixels(np.asarray(resized)[top : top + size, left : left + size])
