"""Localised edit verification (EDCT-Bench 2026): the image changed where the edit belongs, and hardly elsewhere.

The edited image is laid over the original; pixels that changed are counted inside and outside the mask of what the
instruction names; `inside` and `outside` are the paper's. Two shares let a small intrusion pass, and half an edit. So
each place beside the mask is looked at by itself, and each half of the mask; both limits are ours.

It sees that something changed there, not whether it changed into the right thing, so it never counts as having seen
that an edit shows what was asked: use it beside `semantic`. It lets pass what is faint, local blur, what is smaller
than 5 % of the longer side, what overlaps the mask, and anything beside an edit of the background. What was to be
edited is absent where the segmenter is sure of it.

Images show what the gate saw: the mask, and where and how strongly pixels changed. They are evidence to look at and
are kept for every attempt, so large ones are drawn smaller.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cfeval.core import plugin, registry
from cfeval.core.images import Image, Mask
from cfeval.core.registry import PluginOptions
from cfeval.edct.interfaces import Segmenter, Verifier, VerifyReply, VerifyRequest
from cfeval.edct.plugins.image_comparison import CompareSettings, Comparison, compare
from cfeval.inference.batching import Batcher

# Pixels of the longer side, at most.
_LONGEST = 512
# The strength of change that has the brightest color; one over 1 counts as changed.
_BRIGHTEST = 3.0
# The color of pixels that only one of the images has.
_NOT_SHARED = (40, 60, 160)
# Side of the square that counts as one place, as a share of the image's longer side.
_PLACE = 0.08
# A connected change of which this share lies in the mask is the edit's own: a horse is larger than the dog before.
_OWN = 0.4
# Directions in which the mask is halved.
_DIRECTIONS = 16


class Limits(PluginOptions):
    """Where an edit must change the image, and where it must not."""

    inside: float = Field(0.1, ge=0, lt=1)
    """Share of the mask's pixels that must change at least (EDCT-Bench 2026: over 10 %)."""
    outside: float = Field(0.3, gt=0, le=1)
    """Share of all other pixels that may change at most (EDCT-Bench 2026: under 30 %)."""
    stray: float = Field(0.35, gt=0, le=1)
    """Share of any one place beside the mask, a square of 8 % of the longer side, that may change at most, unless the
    change lies largely in the mask: watermarks, stickers, lines. 1: places do not count (EDCT-Bench 2026)."""
    halves: float = Field(0.25, ge=0, lt=1)
    """How much of the half of the mask that changed least must have changed, as a share of that which changed most: 0
    in one half is half an edit. 0: halves do not count (EDCT-Bench 2026)."""
    dilation: float = Field(0.02, ge=0, le=0.5)
    """By how much the mask of the target grows to all sides, as a share of the image's longer side."""


@dataclass(frozen=True)
class Shares:
    """Shares of pixels, in [0, 1]: changed in the mask, changed beside it, and the mask's own of the image.

    `inside` is None where no pixel of the mask has a counterpart in the edited image; a share of no pixels beside the
    mask is 0. `stray` is the changed share of the place beside the mask that changed most; `halves` the changed share
    of the half of the mask that changed least, by that of the one that changed most.
    """

    inside: float | None
    outside: float
    mask: float
    stray: float = 0.0
    halves: float = 1.0


def grown(mask: Mask, dilation: float) -> Mask:
    """The mask, (H, W), grown by a share of its longer side."""
    import cv2

    radius = round(dilation * max(mask.shape))
    round_tip = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    return np.asarray(cv2.dilate(mask.astype(np.uint8), round_tip) > 0)


def shares(changed: Mask, mask: Mask, valid: Mask) -> Shares:
    """How much changed in a mask and beside it, among the pixels that both images have; all arrays (H, W)."""
    here, beside = changed[mask & valid], changed[~mask & valid]
    return Shares(
        inside=float(here.mean()) if here.size else None,
        outside=float(beside.mean()) if beside.size else 0.0,
        mask=float(mask.mean()),
    )


def stray_share(coarse: Mask, mask: Mask) -> float:
    """The changed share of the place beside the mask that changed most; what lies largely in the mask is the edit's.

    Args:
        coarse: the pixels that changed, (H, W).
        mask: where the edit belongs, grown, (H, W).
    """
    import cv2

    count, labels = cv2.connectedComponents(coarse.astype(np.uint8))
    inside, areas = (np.bincount(some, minlength=count) for some in (labels[mask], labels.ravel()))
    stray = (inside < _OWN * areas).astype(np.float32)
    stray[0] = 0
    side = max(1, round(_PLACE * max(mask.shape)))
    shares = cv2.boxFilter(stray[labels], -1, (side, side), borderType=cv2.BORDER_CONSTANT)
    return min(1.0, float(shares.max()))


def halves_share(changed: Mask, mask: Mask) -> float:
    """The changed share of the half of the mask that changed least, by that of the half that changed most; 1 where
    nothing changed.

    Args:
        changed: the pixels that changed, (H, W).
        mask: where the edit belongs, without pixels that only one of the images has, (H, W).
    """
    rows, columns = np.nonzero(mask)
    if not rows.size:
        return 1.0
    down, right, here = rows - rows.mean(), columns - columns.mean(), changed[mask]
    angles = np.arange(_DIRECTIONS) * 2 * np.pi / _DIRECTIONS
    halves = [here[down * np.sin(angle) + right * np.cos(angle) >= 0].mean() for angle in angles]
    return float(min(halves) / max(halves)) if max(halves) else 1.0


def decide(counted: Shares, limits: Limits) -> tuple[bool | None, str]:
    """Whether the edit is accepted, and what is wrong with it; None where the mask cannot be seen."""
    if counted.inside is None:
        return None, "where the edit belongs, the two images have nothing in common"
    faults = []
    if counted.inside <= limits.inside:
        faults.append(f"{counted.inside:.1%} of the mask changed, not more than the {limits.inside:.0%} required")
    if counted.outside >= limits.outside:
        faults.append(
            f"{counted.outside:.1%} of what is beside the mask changed, which must stay below {limits.outside:.0%}"
        )
    if counted.halves < limits.halves:
        faults.append(
            f"one half of the mask changed {counted.halves:.2f} times as much as the other, less than the "
            f"{limits.halves:g} required"
        )
    if counted.stray > limits.stray:
        faults.append(
            f"{counted.stray:.0%} of a place beside the mask changed, more than the {limits.stray:.0%} allowed"
        )
    return not faults, "; ".join(faults)


def mask_image(mask: Mask, width: int, height: int) -> Image:
    """A mask for an original of this size, white on black."""
    return Image.from_pixels(_plane(mask, *_shown(width, height)) * np.uint8(255))


def heat_image(comparison: Comparison, mask: Mask | None, width: int, height: int) -> Image:
    """The original, of this size, in gray; changed pixels from dark red to yellow over it, the mask's outline in white.

    Pixels that only one of the images has are blue.
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
    return Image.from_pixels(np.asarray(drawn, dtype=np.uint8))


def _shown(width: int, height: int) -> tuple[int, int]:
    factor = min(1, _LONGEST / max(width, height))
    return max(1, round(width * factor)), max(1, round(height * factor))


def _plane(mask: Mask, width: int, height: int) -> npt.NDArray[np.uint8]:
    import cv2

    plane = cv2.resize(mask.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST)
    return np.asarray(plane, dtype=np.uint8)


# What is said about how the images were laid over each other, beside what is wrong.
_LAID = {
    "matches": "",
    "phase correlation": " (the images were aligned by phase correlation)",
    "nothing": " (the images were compared as they lie)",
}


class Plugin(Limits, CompareSettings, plugin.Plugin):
    """Where masks come from, what is compared and how, and what is accepted."""

    mask: dict[str, Any] = plugin.component("segmenters")
    """The segmenter: its plugin and options."""

    def build(self) -> Verifier:
        """The verifier."""
        return Localised(registry.build("segmenters", self.mask), self)


class Localised:
    """Counts changed pixels inside and outside a mask."""

    def __init__(self, segmenter: Segmenter, options: Plugin) -> None:
        self.segmenter, self.options = segmenter, options
        self._requests = Batcher(self._verify_all)

    async def verify(self, request: VerifyRequest) -> VerifyReply:
        """Check an edit; without a mask there is no telling."""
        return await self._requests.answer(request)

    def _verify_all(self, requests: Sequence[VerifyRequest]) -> list[VerifyReply]:
        return [self._verify(request) for request in requests]

    def _verify(self, request: VerifyRequest) -> VerifyReply:
        height, width = request.original.pixels.shape[:2]
        edited = request.edited.resized(width, height)
        compared = compare(request.original.pixels, edited.pixels, self.options)
        valid = compared.alignment.valid
        numbers = {"resized": float(edited is not request.edited), **_alignment(compared)}
        target = self.segmenter.find(replace(request, edited=edited), compared.changed)
        numbers |= target.numbers
        masks = [] if target.original is None else [compared.mask(target.original)]
        masks += [] if target.edited is None else [compared.mask(target.edited, on_edited=True)]
        union = np.logical_or.reduce(masks) if masks else None
        mask = union if union is not None and union.any() else None
        if mask is None:
            reason = target.reason or "the mask is empty"
            heat = heat_image(compared, None, width, height)
            return VerifyReply(
                False if target.refuted else None, reason, numbers, {"heat": heat}, absent=target.absent, content=False
            )
        place = grown(mask, self.options.dilation)
        counted = replace(
            shares(compared.changed, place, valid),
            stray=stray_share(compared.coarse, place),
            halves=halves_share(compared.changed, mask & valid),
        )
        accepted, reason = decide(counted, self.options)
        reason += _LAID[compared.alignment.by] if reason else ""
        inside = {} if counted.inside is None else {"inside": counted.inside}
        counts = {"outside": counted.outside, "stray": counted.stray, "halves": counted.halves}
        counts |= {"mask_share": counted.mask}
        heat = heat_image(compared, place, width, height)
        images = {"mask": mask_image(place, width, height), "heat": heat}
        return VerifyReply(
            accepted, reason, {**inside, **counts, **numbers}, images, absent=target.absent, content=False
        )


def _alignment(compared: Comparison) -> dict[str, float]:
    """How the images lie over each other, in pixels of the original and degrees, and how much changed in all."""
    alignment = compared.alignment
    turn, (right, down) = alignment.matrix[:, :2], alignment.moved
    return {
        "changed_share": float(compared.changed.sum() / max(1, alignment.valid.sum())),
        "valid_share": float(alignment.valid.mean()),
        "matches": float(alignment.matches),
        "moved_right": right / compared.scale,
        "moved_down": down / compared.scale,
        "stretched": float(np.sqrt(np.linalg.det(turn))),
        "turned_degrees": float(np.degrees(np.arctan2(turn[1, 0], turn[0, 0]))),
        "flow": float((np.linalg.norm(alignment.flow, axis=2) / compared.scale).mean()),
    }
