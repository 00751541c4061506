"""Where an edit paints: boxes around objects, 32×32 windows, the light across a background. Pixels only, no scene."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

WINDOW = 32
_LARGEST_BOX = 30


@dataclass(frozen=True)
class Box:
    """Rows `top` to `bottom` and columns `left` to `right`, the ends excluded."""

    top: int
    bottom: int
    left: int
    right: int

    def mask(self, height: int = 64, width: int = 64) -> Mask:
        """The box as a mask."""
        filled = np.zeros((height, width), dtype=bool)
        filled[self.top : self.bottom, self.left : self.right] = True
        return filled

    def window(self, size: int = 64) -> tuple[int, int]:
        """Row and column where the 32×32 window that centres the box begins, inside the image."""
        row, column = (self.top + self.bottom) // 2 - WINDOW // 2, (self.left + self.right) // 2 - WINDOW // 2
        return min(max(row, 0), size - WINDOW), min(max(column, 0), size - WINDOW)


def box_around(outline: Mask, extra: tuple[int, int, int, int] = (0, 0, 0, 0)) -> Box | None:
    """The box to repaint when the object with this outline changes: room for any shape of its size; None if empty.

    Args:
        outline: the object's pixels, bool (64, 64).
        extra: pixels added at top, bottom, left and right.
    """
    rows, columns = np.flatnonzero(outline.any(1)), np.flatnonzero(outline.any(0))
    if len(rows) == 0:
        return None
    margin = 2 + round(0.15 * max(rows[-1] - rows[0], columns[-1] - columns[0]))
    top, bottom = _stretch(int(rows[0]) - extra[0], int(rows[-1]) + 1 + extra[1], margin, len(outline))
    left, right = _stretch(int(columns[0]) - extra[2], int(columns[-1]) + 1 + extra[3], margin, outline.shape[1])
    return Box(top, bottom, left, right)


def _stretch(first: int, last: int, margin: int, size: int) -> tuple[int, int]:
    """The range with margins, at most 30 long and inside the image."""
    excess = max(0, last - first + 2 * margin - _LARGEST_BOX)
    first, last = first - margin + excess // 2, last + margin - (excess - excess // 2)
    return max(first, 0), min(last, size)


def dilated(mask: Mask, times: int = 1) -> Mask:
    """A mask (H, W) grown by its neighbours above, below, left and right.

    Here and in `eroded` because scipy.ndimage takes longer to import than most jobs take to run.
    """
    for _ in range(times):
        grown = mask.copy()
        grown[1:] |= mask[:-1]
        grown[:-1] |= mask[1:]
        grown[:, 1:] |= mask[:, :-1]
        grown[:, :-1] |= mask[:, 1:]
        mask = grown
    return mask


def eroded(mask: Mask) -> Mask:
    """The pixels of a mask (H, W) whose four neighbours are in it too; beyond the border nothing is."""
    return ~dilated(~np.pad(mask, 1))[1:-1, 1:-1]


def light_of(image: Floats, ground: Floats) -> Floats:
    """Smooth relative brightness of the background, about 0 on average; 0 where no background is near.

    Args:
        image: (H, W, 3) in [0, 1].
        ground: how much of each pixel is background, (H, W) in [0, 1].
    """
    gray = image.mean(2) * ground
    total = ground.sum()
    if total < 1:
        return np.zeros(ground.shape)
    smooth, weight = box_blur(gray, 3), box_blur(ground, 3)
    mean = gray.sum() / total
    return np.where(weight > 0.05, smooth / np.maximum(weight, 0.05) / mean - 1, 0.0)


def box_blur(plane: Floats, radius: int) -> Floats:
    """Mean over a square of side 2·radius + 1, zero beyond the edge; (H, W)."""
    side = 2 * radius + 1
    padded = np.pad(plane, radius)
    rows = np.zeros((plane.shape[0], padded.shape[1]))
    for shift in range(side):
        rows += padded[shift : shift + plane.shape[0]]
    blurred = np.zeros(plane.shape)
    for shift in range(side):
        blurred += rows[:, shift : shift + plane.shape[1]]
    return blurred / side**2


def halve(image: Floats) -> Floats:
    """Means of 2×2 pixels; (H, W, …) to (H/2, W/2, …)."""
    return np.asarray((image[::2, ::2] + image[1::2, ::2] + image[::2, 1::2] + image[1::2, 1::2]) / 4)


def check_size(image: npt.NDArray[np.uint8]) -> None:
    """Refuses what is not an RGB image of 64×64 pixels.

    Raises:
        ValueError: the shape or type is another.
    """
    if image.shape != (64, 64, 3) or image.dtype != np.uint8:
        raise ValueError(f"image must be uint8 (64, 64, 3), but got {image.dtype} {image.shape}")
