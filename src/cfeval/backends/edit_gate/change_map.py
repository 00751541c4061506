"""How much each pixel of a picture changed: in local structure, or in color and edges (EDCT-Bench 2026).

The paper gives the form of the rule; its thresholds and weights are ours.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cfeval.backends.registry import PluginOptions

Floats = npt.NDArray[np.float32]
Pixels = npt.NDArray[np.uint8]


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
    """Standard deviation, in pixels at the working size, of the Gaussian that both pictures pass before colors and
    gradients are compared; it takes away most of what compression does."""


def change_strength(original: Pixels, edited: Pixels, settings: ChangeSettings) -> Floats:
    """How strongly each pixel changed, (H, W); one over 1 counts as changed.

    Args:
        original: (H, W, 3), uint8 RGB.
        edited: as the original, and laid over it.
        settings: thresholds and weights.
    """
    structure = (1 - local_ssim(original, edited, settings.ssim_k1)) / (1 - settings.ssim)
    return np.asarray(np.maximum(structure, difference(original, edited, settings) / settings.difference))


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
