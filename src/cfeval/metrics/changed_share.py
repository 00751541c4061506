"""Changed area of an edit."""

import numpy as np
import numpy.typing as npt


def changed_share(before: npt.NDArray[np.uint8], after: npt.NDArray[np.uint8], threshold: int = 8) -> float:
    """Share of pixels, in [0, 1], that moved by more than `threshold` of 255 in some channel.

    Args:
        before, after: (H, W, 3), uint8 RGB. An image of another size counts as changed everywhere.
        threshold: largest difference that counts as unchanged.
    """
    if before.shape != after.shape:
        return 1.0
    difference = np.abs(before.astype(np.int16) - after.astype(np.int16)).max(axis=-1)
    return float((difference > threshold).mean())
