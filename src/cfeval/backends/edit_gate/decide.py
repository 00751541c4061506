"""Accepts an edit whose changes lie where they should (EDCT-Bench 2026); the two shares are the paper's."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cfeval.backends.registry import PluginOptions

Mask = npt.NDArray[np.bool_]


class Limits(PluginOptions):
    """Where an edit must change the picture, and where it must not."""

    inside: float = Field(0.1, ge=0, lt=1)
    """Share of the mask's pixels that must change at least (EDCT-Bench 2026: over 10 %)."""
    outside: float = Field(0.3, gt=0, le=1)
    """Share of all other pixels that may change at most (EDCT-Bench 2026: under 30 %)."""
    dilation: float = Field(0.02, ge=0, le=0.5)
    """By how much the mask of the target grows to all sides, as a share of the picture's longer side."""


@dataclass(frozen=True)
class Shares:
    """Shares of pixels, in [0, 1]: changed in the mask, changed beside it, and the mask's own of the picture.

    `inside` is None where no pixel of the mask has a counterpart in the edited picture; a share of no pixels beside the
    mask is 0.
    """

    inside: float | None
    outside: float
    mask: float


def grown(mask: Mask, dilation: float) -> Mask:
    """The mask, (H, W), grown by a share of its longer side."""
    import cv2

    radius = round(dilation * max(mask.shape))
    round_tip = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    return np.asarray(cv2.dilate(mask.astype(np.uint8), round_tip) > 0)


def shares(changed: Mask, mask: Mask, valid: Mask) -> Shares:
    """How much changed in a mask and beside it, among the pixels that both pictures have; all arrays (H, W)."""
    here, beside = changed[mask & valid], changed[~mask & valid]
    return Shares(
        inside=float(here.mean()) if here.size else None,
        outside=float(beside.mean()) if beside.size else 0.0,
        mask=float(mask.mean()),
    )


def decide(found: Shares, limits: Limits) -> tuple[bool | None, str]:
    """Whether the edit is accepted, and what is wrong with it; None where the mask cannot be seen."""
    if found.inside is None:
        return None, "where the edit belongs, the two pictures have nothing in common"
    faults = []
    if found.inside <= limits.inside:
        faults.append(f"{found.inside:.1%} of the mask changed, and over {limits.inside:.0%} must")
    if found.outside >= limits.outside:
        faults.append(f"{found.outside:.1%} of what is beside the mask changed, and under {limits.outside:.0%} may")
    return not faults, "; ".join(faults)
