"""What an editor changed in an image: where its pixels lie, and how much each of them changed (EDCT-Bench 2026).

The edited image and its original are compared at a working size, one laid over the other: matched keypoints, then a
small and smooth dense flow. An editor's image may come back shifted, cropped or slightly bent. A flow that may go
anywhere would also explain the edit away. So what moves as a whole is found first (ORB keypoints and RANSAC; where they
do not suffice, phase correlation), and the flow (DIS, Kroeger et al. 2016) may only add displacements that are short,
smooth, and borne by places that agree once they are displaced. A movement or flow that does not make the images agree
better is dropped.

A pixel changed in local structure, or in color and edges. The paper gives the form of the rule; its thresholds and
weights are ours. The map of SSIM is scikit-image's, by OpenCV's filters: torchmetrics' divides by another number of
pixels (49 for 48), is apart by up to 0.07 and takes three times as long (`python -m bench metrics`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from cfeval.core.images import Mask, Pixels
from cfeval.core.registry import PluginOptions

Floats = npt.NDArray[np.float32]
Gray = npt.NDArray[np.uint8]

# Share of the disagreement that a movement must remove to be believed. Measured: right ones remove 0.13 and more,
# those between images of different things 0.07 and less.
_WORTH = 0.1
# Largest disagreement of a pixel, of 255, so that what was edited does not outweigh all that was not.
_CAP = 32.0
# Least share of the image that the two must have in common.
_LEAST_VALID = 0.6
# Pixels of the shorter side from which on there is a flow: its pyramid of ever smaller images must have room.
_LEAST_FOR_FLOW = 64
# ORB keypoints in each image, at most.
_KEYPOINTS = 1000
# Matches that must agree on one movement (RANSAC inliers).
_LEAST_MATCHES = 12
# Radius of the neighborhood over which the flow is averaged (stack blur), as a share of the longer side.
_FLOW_SMOOTHING = 0.03
# Least and greatest factor by which an image may come back stretched or squeezed.
_STRETCH = (0.75, 1.33)


class AlignSettings(PluginOptions):
    """How two images are laid over each other."""

    flow: float = Field(0.01, ge=0, le=0.1)
    """Longest displacement that the dense flow may add, as a share of the longer side; 0: no flow."""


@dataclass(frozen=True)
class Alignment:
    """Where the pixels of the original lie in the edited image.

    Attributes:
        matrix: (2, 3), from (x, y, 1) in the original to (x, y) in the edited image, both in pixels.
        flow: what is added to (x, y) before, (H, W, 2), in pixels.
        by: what the matrix rests on.
        matches: how many matches of keypoints agree with it.
    """

    matrix: Floats
    flow: Floats
    by: Literal["nothing", "phase correlation", "matches"] = "nothing"
    matches: int = 0

    @cached_property
    def at(self) -> tuple[Floats, Floats]:
        """Column and row in the edited image, (H, W) each."""
        height, width = self.flow.shape[:2]
        x = np.arange(width, dtype=np.float32) + self.flow[..., 0]
        y = np.arange(height, dtype=np.float32)[:, None] + self.flow[..., 1]
        column, row = (across * x + down * y + start for across, down, start in self.matrix)
        return column, row

    @cached_property
    def valid(self) -> Mask:
        """The pixels of the original that have a counterpart in the edited image, (H, W)."""
        column, row = self.at
        height, width = column.shape
        return np.asarray((column >= 0) & (column <= width - 1) & (row >= 0) & (row <= height - 1))

    @property
    def moved(self) -> tuple[float, float]:
        """How far the center of the original lies to the right and down in the edited image, in pixels."""
        turn, start = self.matrix[:, :2], self.matrix[:, 2]
        center = np.array(self.flow.shape[1::-1]) / 2
        right, down = turn @ center + start - center
        return float(right), float(down)

    def warp(self, image: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The edited image, or a plane of it, (H, W, …), as it lies over the original; border pixels are repeated."""
        import cv2

        return np.asarray(cv2.remap(image, *self.at, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE))


def align(original: Gray, edited: Gray, settings: AlignSettings) -> Alignment:
    """How two gray images of one size, uint8 (H, W), lie over each other."""
    import cv2

    reliefs = _relief(original), _relief(edited)
    best = Alignment(np.eye(2, 3, dtype=np.float32), np.zeros((*original.shape, 2), np.float32))
    cost = _disagreement(*reliefs, best) * (1 - _WORTH)
    window = cv2.createHanningWindow(original.shape[::-1], cv2.CV_32F)
    # It puts the window on what it is given.
    (x, y), _ = cv2.phaseCorrelate(reliefs[0].copy(), reliefs[1].copy(), window)
    shifted = replace(best, matrix=np.array([[1, 0, x], [0, 1, y]], np.float32), by="phase correlation")
    for movement in (*_matched(original, edited, best), shifted):
        if (movement_cost := _disagreement(*reliefs, movement)) < cost:
            best, cost = movement, movement_cost
    if not settings.flow or min(original.shape) < _LEAST_FOR_FLOW:
        return best
    bent = replace(best, flow=_flow(original, edited, best, settings))
    better = _disagreement(*reliefs, bent) < _disagreement(*reliefs, best) * (1 - _WORTH)
    return bent if better else best


def _relief(gray: Gray) -> Floats:
    """An image without its slow changes: it then matters where edges are, not how bright a surface is."""
    import cv2

    side = 2 * round(0.03 * max(gray.shape)) + 1
    return np.asarray(gray - cv2.blur(gray.astype(np.float32), (side, side)))


def _disagreement(original: Floats, edited: Floats, alignment: Alignment) -> float:
    """Mean difference of the pixels that both reliefs have; infinite where those are too few."""
    import cv2

    shared = alignment.valid
    if np.count_nonzero(shared) < _LEAST_VALID * shared.size:
        return float("inf")
    difference = np.minimum(cv2.absdiff(original, alignment.warp(edited)), _CAP)
    return float(cv2.mean(difference, shared.astype(np.uint8))[0])


def _matched(original: Gray, edited: Gray, still: Alignment) -> Iterator[Alignment]:
    """The affine movement that most ORB matches agree on, where enough do and it is a likely one."""
    import cv2

    finder = cv2.ORB.create(_KEYPOINTS, fastThreshold=10)
    (here, descriptors), (there, others) = (finder.detectAndCompute(image, None) for image in (original, edited))
    if descriptors is None or others is None:
        return
    pairs = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True).match(descriptors, others)
    if len(pairs) < _LEAST_MATCHES:
        return
    before = np.array([here[pair.queryIdx].pt for pair in pairs], np.float32)
    after = np.array([there[pair.trainIdx].pt for pair in pairs], np.float32)
    matrix, agree = cv2.estimateAffine2D(before, after, method=cv2.RANSAC, ransacReprojThreshold=2.0)
    if matrix is None or agree.sum() < _LEAST_MATCHES:
        return
    turn = matrix[:, :2]
    stretches = np.linalg.svd(turn, compute_uv=False)
    if np.linalg.det(turn) > 0 and _STRETCH[0] <= stretches.min() and stretches.max() <= _STRETCH[1]:
        yield replace(still, matrix=matrix.astype(np.float32), by="matches", matches=int(agree.sum()))


def _flow(original: Gray, edited: Gray, whole: Alignment, settings: AlignSettings) -> Floats:
    """The displacements that are left after a movement, (H, W, 2): a mean over the neighborhood that trusts short
    displacements after which the images agree, so that the place of an edit moves as its surroundings do."""
    import cv2

    longest, radius = (share * max(original.shape) for share in (settings.flow, _FLOW_SMOOTHING))
    finder = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
    raw = np.asarray(finder.calc(original, whole.warp(edited), np.zeros_like(whole.flow)), dtype=np.float32)
    bent = replace(whole, flow=raw)
    left = cv2.blur(cv2.absdiff(original, bent.warp(edited)).astype(np.float32), (5, 5))
    trust = ((cv2.magnitude(*cv2.split(raw)) <= longest) & bent.valid) / np.square(1 + left)
    smooth = cv2.stackBlur(cv2.merge([raw * trust[..., None], trust]), (2 * round(radius) + 1,) * 2)
    return np.asarray(smooth[..., :2] / np.maximum(smooth[..., 2:], 1e-6))


# Pixels to which the shorter side of a sliver is stretched: the windows of SSIM need 7.
_LEAST_SIDE = 8
# What storing, softening or bending a photograph by a pixel leaves is finer than these; a JPEG's colors are smeared
# further than its grays.
# Standard deviation of the Gaussian that coarse changes outlast, as a share of the longer side.
_COARSE = 0.006
# The same in pixels at the working size, at least.
_LEAST_COARSE = 2.0
# The same for colors, in pixels of the original, at least.
_COARSE_COLOR = 1.5
# What makes a coarse change, as a share of `difference`.
_COARSE_DIFFERENCE = 0.75


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

    def mask(self, mask: Mask, on_edited: bool = False) -> Mask:
        """A mask of either image, of any size, as it lies over the original at the working size."""
        import cv2

        height, width = self.strength.shape
        plane = np.asarray(cv2.resize(mask.astype(np.uint8) * 255, (width, height)))
        return np.asarray((self.alignment.warp(plane) if on_edited else plane) >= 128)


def compare(original: Pixels, edited: Pixels, settings: CompareSettings) -> Comparison:
    """Compare two images of one size, uint8 (H, W, 3)."""
    import cv2

    cv2.setNumThreads(1)  # a job holds one core
    side = max(original.shape[:2])
    scale = min(max(side, settings.min_side), settings.max_side) / side
    before, after = _resized(original, scale), _resized(edited, scale)
    gray, edited_gray = (np.asarray(cv2.cvtColor(p, cv2.COLOR_RGB2GRAY), np.uint8) for p in (before, after))
    alignment = align(gray, edited_gray, settings.align)
    # Where there is no counterpart, nothing may show up beside it in the windows of SSIM.
    laid = np.where(alignment.valid[..., None], alignment.warp(after), before)
    strength = change_strength(before, laid, settings.change)
    coarse = coarse_changes(before, laid, settings.change, scale)
    return Comparison(before, alignment, strength, coarse & alignment.valid, scale)


def _resized(pixels: Pixels, scale: float) -> Pixels:
    import cv2

    height, width = (max(_LEAST_SIDE, round(side * scale)) for side in pixels.shape[:2])
    if (height, width) == pixels.shape[:2]:
        return pixels
    interpolation = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=interpolation))


def change_strength(original: Pixels, edited: Pixels, settings: ChangeSettings) -> Floats:
    """How strongly each pixel changed, (H, W); one over 1 counts as changed.

    Args:
        original: (H, W, 3), uint8 RGB.
        edited: as the original, and laid over it.
    """
    structure = (1 - local_ssim(original, edited, settings.ssim_k1)) / (1 - settings.ssim)
    return np.asarray(np.maximum(structure, difference(original, edited, settings) / settings.difference))


def coarse_changes(original: Pixels, edited: Pixels, settings: ChangeSettings, scale: float) -> Mask:
    """The pixels that look different even after both images were smoothed, in gray or in color, (H, W).

    Args:
        original: (H, W, 3), uint8 RGB.
        edited: as the original, and laid over it.
        scale: pixels of these images per pixel of the original's own size.
    """
    gray = max(_COARSE * max(original.shape[:2]), _LEAST_COARSE)
    color = max(gray, _COARSE_COLOR * scale)
    grays = _without_color(original), _without_color(edited)
    differences = [
        difference(*pair, settings.model_copy(update={"smoothing": smoothing}))
        for pair, smoothing in ((grays, gray), ((original, edited), color))
    ]
    return np.asarray(np.maximum(*differences) > _COARSE_DIFFERENCE * settings.difference)


def _without_color(pixels: Pixels) -> Pixels:
    import cv2

    return np.asarray(cv2.merge([cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)] * 3), dtype=np.uint8)


def local_ssim(original: Pixels, edited: Pixels, k1: float) -> Floats:
    """SSIM of the gray values around each pixel, in windows of 7 × 7, (H, W) in [−1, 1]."""
    import cv2
    from skimage import metrics

    ssim: Any = metrics.structural_similarity
    grays = (cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY) for pixels in (original, edited))
    _, similarity = ssim(*(gray.astype(np.float32) for gray in grays), data_range=255, K1=k1, full=True)
    return np.asarray(similarity, dtype=np.float32)


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
