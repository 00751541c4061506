"""How much each pixel of an image changed: in local structure, or in color and edges (EDCT-Bench 2026).

The edited image and its original are compared at a working size, one laid over the other. The paper gives the form of
the rule; its thresholds and weights are ours.

The map of SSIM is scikit-image's, by OpenCV's filters: torchmetrics' divides by another number of pixels (49 for 48),
is apart by up to 0.07 and takes three times as long (`python -m bench metrics`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from cfeval.core.registry import PluginOptions
from cfeval.edct.plugins.edit_localisation.alignment import Alignment, AlignSettings, align

Floats = npt.NDArray[np.float32]
Pixels = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
_LEAST_SIDE = 8
"""Pixels to which the shorter side of a sliver is stretched: the windows of SSIM need 7."""
# What storing, softening or bending a photograph by a pixel leaves is finer than these; a JPEG's colors are smeared
# further than its grays.
_COARSE = 0.006
"""Standard deviation of the Gaussian that coarse changes outlast, as a share of the longer side."""
_LEAST_COARSE = 2.0
"""The same in pixels at the working size, at least."""
_COARSE_COLOR = 1.5
"""The same for colors, in pixels of the original, at least."""
_COARSE_DIFFERENCE = 0.75
"""What makes a coarse change, as a share of `difference`."""


class ChangeSettings(PluginOptions):
    """What counts as a change. Colors and gradients are in units of the full range, so that 1 is black to white."""

    ssim: float = Field(0.5, gt=-1, lt=1)
    """A pixel changed where the local SSIM is under it."""
    ssim_k1: float = Field(0.1, gt=0)
    """K1 of SSIM. Its usual value, 0.01, calls a black area changed that is lightened by 3 of 255."""
    difference: float = Field(0.08, gt=0)
    """A pixel changed where the weighted sum of the three differences is over it."""
    hsv_weight: float = Field(0.5, ge=0)
    """Of the distance in the HSV cone, half its diameter being 0.5."""
    rgb_weight: float = Field(0.5, ge=0)
    """Of the root mean square difference of red, green and blue."""
    gradient_weight: float = Field(0.5, ge=0)
    """Of the difference between the gradients' magnitudes (Sobel), a sharp edge from black to white having 1."""
    smoothing: float = Field(1.0, ge=0)
    """Standard deviation, in pixels at the working size, of the Gaussian that both images pass before colors and
    gradients are compared; it takes away most of what compression does."""


class CompareSettings(PluginOptions):
    """At which size images are compared, and how."""

    min_side: int = Field(256, ge=64, le=4096)
    """Pixels of the longer side to which smaller images are enlarged; ORB finds little in smaller ones."""
    max_side: int = Field(1024, ge=64, le=4096)
    """Pixels of the longer side to which larger images are shrunk."""
    align: AlignSettings = AlignSettings()
    change: ChangeSettings = ChangeSettings()

    @model_validator(mode="after")
    def _in_order(self) -> "CompareSettings":
        if self.min_side > self.max_side:
            raise ValueError(f"min_side must be at most max_side, but got {self.min_side} and {self.max_side}")
        return self


@dataclass(frozen=True)
class Comparison:
    """What changed between two images; arrays are (H, W) at the working size, in the original's frame.

    Attributes:
        original: the original, uint8 (H, W, 3).
        alignment: where the original's pixels lie in the edited image.
        strength: how strongly each pixel changed; over 1 counts.
        coarse: the pixels that look different even from afar: fine texture that was softened or moved is none of them.
        scale: working pixels a pixel of the original.
    """

    original: Pixels
    alignment: Alignment
    strength: Floats
    coarse: Mask
    scale: float

    @property
    def changed(self) -> Mask:
        """The pixels that both images have and that changed."""
        return (self.strength > 1) & self.alignment.valid

    def mask(self, found: Mask, on_edited: bool = False) -> Mask:
        """A mask of either image, of any size, as it lies over the original at the working size."""
        import cv2

        height, width = self.strength.shape
        plane = np.asarray(cv2.resize(found.astype(np.uint8) * 255, (width, height)))
        return np.asarray((self.alignment.warp(plane) if on_edited else plane) >= 128)


def compare(original: Pixels, edited: Pixels, settings: CompareSettings) -> Comparison:
    """Compare two images of one size, uint8 (H, W, 3)."""
    import cv2

    cv2.setNumThreads(1)  # a job holds one core
    scale = _scale(max(original.shape[:2]), settings)
    before, after = _resized(original, scale), _resized(edited, scale)
    gray, edited_gray = (np.asarray(cv2.cvtColor(p, cv2.COLOR_RGB2GRAY), np.uint8) for p in (before, after))
    alignment = align(gray, edited_gray, settings.align)
    # Where there is no counterpart, nothing may show up beside it in the windows of SSIM.
    laid = np.where(alignment.valid[..., None], alignment.warp(after), before)
    strength, coarse = (
        change_strength(before, laid, settings.change),
        coarse_changes(before, laid, settings.change, scale),
    )
    return Comparison(before, alignment, strength, coarse & alignment.valid, scale)


def _scale(side: int, settings: CompareSettings) -> float:
    return min(max(side, settings.min_side), settings.max_side) / side


def _resized(pixels: Pixels, scale: float) -> Pixels:
    import cv2

    height, width = (max(_LEAST_SIDE, round(side * scale)) for side in pixels.shape[:2])
    if (height, width) == pixels.shape[:2]:
        return pixels
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=how))


def change_strength(original: Pixels, edited: Pixels, settings: ChangeSettings) -> Floats:
    """How strongly each pixel changed, (H, W); one over 1 counts as changed.

    Args:
        original: (H, W, 3), uint8 RGB.
        edited: as the original, and laid over it.
        settings: thresholds and weights.
    """
    structure = (1 - local_ssim(original, edited, settings.ssim_k1)) / (1 - settings.ssim)
    return np.asarray(np.maximum(structure, difference(original, edited, settings) / settings.difference))


def coarse_changes(original: Pixels, edited: Pixels, settings: ChangeSettings, scale: float) -> Mask:
    """The pixels that look different even after both images were smoothed, in gray or in color, (H, W).

    Args:
        original: (H, W, 3), uint8 RGB.
        edited: as the original, and laid over it.
        settings: weights, and the threshold.
        scale: pixels of these images per pixel of the original's own size.
    """
    gray = max(_COARSE * max(original.shape[:2]), _LEAST_COARSE)
    color = max(gray, _COARSE_COLOR * scale)
    grays = _without_color(original), _without_color(edited)
    found = [
        difference(*pair, settings.model_copy(update={"smoothing": smoothing}))
        for pair, smoothing in ((grays, gray), ((original, edited), color))
    ]
    return np.asarray(np.maximum(*found) > _COARSE_DIFFERENCE * settings.difference)


def _without_color(pixels: Pixels) -> Pixels:
    import cv2

    return np.asarray(cv2.merge([cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)] * 3), dtype=np.uint8)


def local_ssim(original: Pixels, edited: Pixels, k1: float) -> Floats:
    """SSIM of the gray values around each pixel, in windows of 7 × 7, (H, W) in [−1, 1]."""
    import cv2
    from skimage import metrics

    ssim: Any = metrics.structural_similarity
    grays = (cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY) for pixels in (original, edited))
    _, found = ssim(*(gray.astype(np.float32) for gray in grays), data_range=255, K1=k1, full=True)
    return np.asarray(found, dtype=np.float32)


def difference(original: Pixels, edited: Pixels, settings: ChangeSettings) -> Floats:
    """Weighted sum of HSV distance, RGB distance and difference of gradients, (H, W)."""
    before, after = (_smooth(pixels, settings.smoothing) for pixels in (original, edited))
    rgb = _length(before - after) / np.sqrt(np.float32(3))
    hsv = _length(_cone(before) - _cone(after)) / 2
    gradient = np.abs(_gradient(before) - _gradient(after))
    weights = settings.rgb_weight, settings.hsv_weight, settings.gradient_weight
    return np.asarray(sum(w * part for w, part in zip(weights, (rgb, hsv, gradient), strict=True)), dtype=np.float32)


def _smooth(pixels: Pixels, deviation: float) -> Floats:
    import cv2

    plain = np.asarray(pixels / np.float32(255), dtype=np.float32)
    return np.asarray(cv2.GaussianBlur(plain, (0, 0), deviation), dtype=np.float32) if deviation else plain


def _cone(rgb: Floats) -> Floats:
    """Hue, saturation and value as places in a cone whose tip is black: the hue of what is dark matters little."""
    import cv2

    hue, saturation, value = cv2.split(cv2.cvtColor(rgb, cv2.COLOR_RGB2HSV))
    x, y = cv2.polarToCart(saturation * value, hue, angleInDegrees=True)
    return np.asarray(cv2.merge([x, y, value]))


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ijk,ijk->ij", vectors, vectors)))


def _gradient(rgb: Floats) -> Floats:
    import cv2

    gray = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
    return np.asarray(cv2.magnitude(*(cv2.Sobel(gray, cv2.CV_32F, *way, scale=1 / 4) for way in ((1, 0), (0, 1)))))
