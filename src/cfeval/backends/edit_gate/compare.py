"""An edited picture compared with its original: both at a working size, one laid over the other."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from cfeval.backends.edit_gate.align import Alignment, AlignSettings, align
from cfeval.backends.edit_gate.change_map import ChangeSettings, change_strength
from cfeval.backends.registry import PluginOptions

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Pixels = npt.NDArray[np.uint8]


_LEAST_SIDE = 8
"""Pixels to which the shorter side of a sliver is stretched: the windows of SSIM need 7."""


class CompareSettings(PluginOptions):
    """At which size pictures are compared, and how."""

    min_side: int = Field(256, ge=64, le=4096)
    """Pixels of the longer side to which smaller pictures are enlarged; ORB finds little in smaller ones."""
    max_side: int = Field(1024, ge=64, le=4096)
    """Pixels of the longer side to which larger pictures are shrunk."""
    align: AlignSettings = AlignSettings()
    change: ChangeSettings = ChangeSettings()

    @model_validator(mode="after")
    def _in_order(self) -> "CompareSettings":
        if self.min_side > self.max_side:
            raise ValueError(f"min_side must be at most max_side, but got {self.min_side} and {self.max_side}")
        return self


@dataclass(frozen=True)
class Comparison:
    """What changed between two pictures; arrays are (H, W) at the working size, in the original's frame.

    Attributes:
        original: the original, uint8 (H, W, 3).
        alignment: where the original's pixels lie in the edited picture.
        strength: how strongly each pixel changed; over 1 counts.
        scale: working pixels a pixel of the original.
    """

    original: Pixels
    alignment: Alignment
    strength: Floats
    scale: float

    @property
    def changed(self) -> Mask:
        """The pixels that both pictures have and that changed."""
        return (self.strength > 1) & self.alignment.valid

    def mask(self, found: Mask, on_edited: bool = False) -> Mask:
        """A mask of either picture, of any size, as it lies over the original at the working size."""
        import cv2

        height, width = self.strength.shape
        plane = np.asarray(cv2.resize(found.astype(np.uint8) * 255, (width, height)))
        return np.asarray((self.alignment.warp(plane) if on_edited else plane) >= 128)


def compare(original: Pixels, edited: Pixels, settings: CompareSettings) -> Comparison:
    """Compare two pictures of one size, uint8 (H, W, 3)."""
    import cv2

    cv2.setNumThreads(1)  # a job holds one core
    scale = _scale(max(original.shape[:2]), settings)
    before, after = _resized(original, scale), _resized(edited, scale)
    gray, edited_gray = (np.asarray(cv2.cvtColor(p, cv2.COLOR_RGB2GRAY), np.uint8) for p in (before, after))
    alignment = align(gray, edited_gray, settings.align)
    # Where there is no counterpart, nothing may show up beside it in the windows of SSIM.
    laid = np.where(alignment.valid[..., None], alignment.warp(after), before)
    return Comparison(before, alignment, change_strength(before, laid, settings.change), scale)


def _scale(side: int, settings: CompareSettings) -> float:
    return min(max(side, settings.min_side), settings.max_side) / side


def _resized(pixels: Pixels, scale: float) -> Pixels:
    import cv2

    height, width = (max(_LEAST_SIDE, round(side * scale)) for side in pixels.shape[:2])
    if (height, width) == pixels.shape[:2]:
        return pixels
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=how))
