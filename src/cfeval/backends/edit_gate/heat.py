"""Pictures that show what the gate saw: the mask, and where and how strongly pixels changed.

They are evidence to look at and are kept for every attempt, so large ones are drawn smaller.
"""

import numpy as np
import numpy.typing as npt

from cfeval.backends.edit_gate.compare import Comparison
from cfeval.io.pictures import Picture

Mask = npt.NDArray[np.bool_]
_LONGEST = 512
"""Pixels of the longer side, at most."""
_BRIGHTEST = 3.0
"""The strength of change that has the brightest color; one over 1 counts as changed."""
_NOT_SHARED = (40, 60, 160)
"""The color of pixels that only one of the pictures has."""


def mask_picture(mask: Mask, width: int, height: int) -> Picture:
    """A mask for an original of this size, white on black."""
    return Picture.from_pixels(_plane(mask, *_shown(width, height)) * np.uint8(255))


def heat_picture(comparison: Comparison, mask: Mask | None, width: int, height: int) -> Picture:
    """The original, of this size, in gray; changed pixels from dark red to yellow over it, the mask's outline in white.

    Pixels that only one of the pictures has are blue.
    """
    import cv2

    gray = cv2.cvtColor(comparison.original, cv2.COLOR_RGB2GRAY) // 2
    levels = np.clip(comparison.strength / _BRIGHTEST, 0, 1) * 255
    colors = cv2.cvtColor(cv2.applyColorMap(levels.astype(np.uint8), cv2.COLORMAP_INFERNO), cv2.COLOR_BGR2RGB)
    drawn = np.where(comparison.changed[..., None], colors, cv2.merge([gray, gray, gray]))
    drawn[~comparison.alignment.valid] = _NOT_SHARED
    drawn = cv2.resize(drawn, _shown(width, height), interpolation=cv2.INTER_AREA)
    if mask is not None:
        outlines, _ = cv2.findContours(_plane(mask, *_shown(width, height)), cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(drawn, outlines, -1, (255, 255, 255), 1)
    return Picture.from_pixels(np.asarray(drawn, dtype=np.uint8))


def _shown(width: int, height: int) -> tuple[int, int]:
    factor = min(1, _LONGEST / max(width, height))
    return max(1, round(width * factor)), max(1, round(height * factor))


def _plane(mask: Mask, width: int, height: int) -> npt.NDArray[np.uint8]:
    import cv2

    plane = cv2.resize(mask.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
    return np.asarray(plane, dtype=np.uint8)
