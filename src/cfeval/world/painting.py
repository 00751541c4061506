"""What an editor of pictures returns."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Painting:
    """An edited picture, or why there is none.

    Attributes:
        image: uint8 (64, 64, 3), or None on failure.
        mask: bool (64, 64), the pixels that may have changed; None on failure.
        failure: one line, or None.
    """

    image: npt.NDArray[np.uint8] | None = None
    mask: npt.NDArray[np.bool_] | None = None
    failure: str | None = None


def check_size(image: npt.NDArray[np.uint8]) -> None:
    """Refuses what is not an RGB picture of 64×64 pixels.

    Raises:
        ValueError: the shape or type is another.
    """
    if image.shape != (64, 64, 3) or image.dtype != np.uint8:
        raise ValueError(f"image must be uint8 (64, 64, 3), but got {image.dtype} {image.shape}")
