"""Lays an edited image over its original: matched keypoints, then a small and smooth dense flow.

An editor's image may come back shifted, cropped or slightly bent. A flow that may go anywhere would also explain the
edit away. So what moves as a whole is found first (ORB keypoints and RANSAC; where they do not suffice, phase
correlation), and the flow (DIS, Kroeger et al. 2016) may only add displacements that are short, smooth, and borne by
places that agree once they are displaced. A movement or flow that does not make the images agree better is dropped.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cfeval.core.registry import PluginOptions

Floats = npt.NDArray[np.float32]
Gray = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

_WORTH = 0.1
"""Share of the disagreement that a movement must remove to be believed. Measured: right ones remove 0.13 and more,
those between images of different things 0.07 and less."""
_CAP = 32.0
"""Largest disagreement of a pixel, of 255, so that what was edited does not outweigh all that was not."""
_LEAST_VALID = 0.6
"""Least share of the image that the two must have in common."""
_LEAST_FOR_FLOW = 64
"""Pixels of the shorter side from which on there is a flow: its pyramid of ever smaller images must have room."""
_STRETCH = (0.75, 1.33)
"""Least and greatest factor by which an image may come back stretched or squeezed."""


class AlignSettings(PluginOptions):
    """How two images are laid over each other; lengths are shares of the longer side."""

    keypoints: int = Field(1000, ge=3)
    """ORB keypoints in each image, at most."""
    least_matches: int = Field(12, ge=3)
    """Matches that must agree on one movement (RANSAC inliers)."""
    flow: float = Field(0.01, ge=0, le=0.1)
    """Longest displacement that the dense flow may add; 0: no flow."""
    flow_smoothing: float = Field(0.03, gt=0, le=0.5)
    """Radius of the neighborhood over which the flow is averaged (stack blur)."""


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
    reliefs = _relief(original), _relief(edited)
    best = Alignment(np.eye(2, 3, dtype=np.float32), np.zeros((*original.shape, 2), np.float32))
    cost = _disagreement(*reliefs, best) * (1 - _WORTH)
    for movement in (*_matched(original, edited, best, settings), _shifted(*reliefs, best)):
        if (found := _disagreement(*reliefs, movement)) < cost:
            best, cost = movement, found
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


def _matched(original: Gray, edited: Gray, still: Alignment, settings: AlignSettings) -> Iterator[Alignment]:
    """The affine movement that most ORB matches agree on, where enough do and it is a likely one."""
    import cv2

    finder = cv2.ORB.create(settings.keypoints, fastThreshold=10)
    (here, words), (there, others) = (finder.detectAndCompute(image, None) for image in (original, edited))
    if words is None or others is None:
        return
    pairs = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True).match(words, others)
    if len(pairs) < settings.least_matches:
        return
    before = np.array([here[pair.queryIdx].pt for pair in pairs], np.float32)
    after = np.array([there[pair.trainIdx].pt for pair in pairs], np.float32)
    matrix, agree = cv2.estimateAffine2D(before, after, method=cv2.RANSAC, ransacReprojThreshold=2.0)
    if matrix is not None and agree.sum() >= settings.least_matches and _plausible(matrix):
        yield replace(still, matrix=matrix.astype(np.float32), by="matches", matches=int(agree.sum()))


def _shifted(original: Floats, edited: Floats, still: Alignment) -> Alignment:
    """The shift that phase correlation finds between two reliefs."""
    import cv2

    window = cv2.createHanningWindow(original.shape[::-1], cv2.CV_32F)
    (x, y), _ = cv2.phaseCorrelate(original.copy(), edited.copy(), window)  # it puts the window on what it is given
    return replace(still, matrix=np.array([[1, 0, x], [0, 1, y]], np.float32), by="phase correlation")


def _plausible(matrix: npt.NDArray[Any]) -> bool:
    turn = matrix[:, :2]
    stretches = np.linalg.svd(turn, compute_uv=False)
    return bool(np.linalg.det(turn) > 0 and _STRETCH[0] <= stretches.min() and stretches.max() <= _STRETCH[1])


def _flow(original: Gray, edited: Gray, whole: Alignment, settings: AlignSettings) -> Floats:
    """The displacements that are left after a movement, (H, W, 2): a mean over the neighborhood that trusts short
    displacements after which the images agree, so that the place of an edit moves as its surroundings do."""
    import cv2

    longest, radius = (share * max(original.shape) for share in (settings.flow, settings.flow_smoothing))
    finder = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
    raw = np.asarray(finder.calc(original, whole.warp(edited), np.zeros_like(whole.flow)), dtype=np.float32)
    bent = replace(whole, flow=raw)
    left = cv2.blur(cv2.absdiff(original, bent.warp(edited)).astype(np.float32), (5, 5))
    trust = ((cv2.magnitude(*cv2.split(raw)) <= longest) & bent.valid) / np.square(1 + left)
    smooth = cv2.stackBlur(cv2.merge([raw * trust[..., None], trust]), (2 * round(radius) + 1,) * 2)
    return np.asarray(smooth[..., :2] / np.maximum(smooth[..., 2:], 1e-6))
