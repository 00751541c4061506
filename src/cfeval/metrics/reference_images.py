"""What the reference code of DBVCE does to images before it measures them. Neither is meant by the paper.

Both figures that rest on it are wrong in the sense that other images would give the same value; they are here so that
the paper's tables can be reproduced, and are never used unless asked for.
"""

import numpy as np
import numpy.typing as npt

Floats32 = npt.NDArray[np.float32]


def wrapped_uint8(images: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """255 · x, cut to a whole number, modulo 256: what its FID sees.

    Its images are in [−1, 1], so that all darker than mid grey wrap around: −0.5 → 129, −1 → 1, 1.02 → 4.

    Args:
        images: any shape, float in about [−1, 1].
    """
    scaled = np.asarray(images, dtype=np.float32) * np.float32(255)
    return np.mod(np.trunc(scaled).astype(np.int64), 256).astype(np.uint8)


def stretched(images: npt.ArrayLike, low: float, high: float) -> Floats32:
    """Images rescaled from [low, high] to [−1, 1]: what its LPIPS sees, with the extremes of the whole batch.

    So the distance of a pair depends on which other images are in the batch. Where low = high all is 0.

    Args:
        images: any shape, float.
        low, high: the least and greatest value of the batch that the images are of.
    """
    values = np.asarray(images, dtype=np.float32)
    if high == low:
        return np.zeros_like(values)
    unit: Floats32 = (values - np.float32(low)) / (np.float32(high) - np.float32(low))
    return unit * np.float32(2) - np.float32(1)
