"""Counterfactual Consistency Score of an edit, a panel's majority and median, and the changed area of an image.

EDCT 2025, Section 3; EDCT-Bench 2026.
"""

from collections.abc import Sequence
from statistics import median

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from cfeval.core.records import Binary

# Pixels. Pixel by pixel, JPEG of quality 75 moves up to half of a small photograph by more than 8 of 255; it errs to
# both sides, and averaged over 5 × 5 pixels hardly anything is left of it.
UNEDITED_WINDOW = 5
# Largest share of changed pixels, so averaged, at which an image counts as unedited. JPEG of quality 75 stays under
# it on photographs, Gaussian noise of standard deviation 6 of 255 too; a spot of a fortieth of the image's side is
# over it, a smaller one may not be.
UNEDITED_SHARE = 0.0005


def ccs(answer: Binary, explanation: Binary) -> Binary:
    """CCS_i = PCS_i · NCC_i (2025) or AC_i · EF_i (2026), in {0, 1}.

    Args:
        answer: PCS, 1 where the new answer is logically consistent with the edit; AC, 1 where it is what the evidence
            that is left supports.
        explanation: NCC, 1 where the new explanation reflects the edit; EF, 1 where it rests on valid evidence only.
    """
    return 1 if answer and explanation else 0


def ccs_graded(grade: float | None) -> float | None:
    """(grade − 1) / 4; None where there is no grade; ValueError where the grade is not in [1, 5]."""
    if grade is None:
        return None
    if not 1 <= grade <= 5:
        raise ValueError(f"`grade` must be in [1, 5], but got {grade}")
    return (grade - 1) / 4


def majority(votes: Sequence[Binary | None]) -> Binary | None:
    """The value that more than half of the panel voted for, or None where no value has so many votes.

    Args:
        votes: one for every member; None for a member that gave none, who still counts as one of the panel.
    """
    if 2 * votes.count(1) > len(votes):
        return 1
    return 0 if 2 * votes.count(0) > len(votes) else None


def median_grade(grades: Sequence[float | None]) -> float | None:
    """The median of the grades, or None where not more than half of the panel gave one.

    Args:
        grades: one for every member; None for a member that gave none, who still counts as one of the panel.
    """
    given = [grade for grade in grades if grade is not None]
    return float(median(given)) if 2 * len(given) > len(grades) else None


def changed_share(
    before: npt.NDArray[np.uint8], after: npt.NDArray[np.uint8], threshold: int = 8, window: int = 1
) -> float:
    """Share of pixels, in [0, 1], that moved by more than `threshold` of 255 in some channel.

    Args:
        before, after: (H, W, 3), uint8 RGB. An image of another size counts as changed everywhere.
        threshold: largest difference that counts as unchanged.
        window: side, in pixels, of the square around each pixel over which its difference is averaged first.
    """
    if before.shape != after.shape:
        return 1.0
    difference = before.astype(np.int16) - after.astype(np.int16)
    moved = difference if window == 1 else _local_means(difference, window)
    return float((np.abs(moved).max(axis=-1) > threshold).mean())


def _local_means(difference: npt.NDArray[np.int16], window: int) -> npt.NDArray[np.float32]:
    """Means (H, W, 3) over squares; beyond the border the nearest pixel counts.

    The bytes of `scipy.ndimage.uniform_filter`, which takes longer to import than a job of small images to run.
    """
    means = difference.astype(np.float32)
    for axis in (0, 1):
        border = [(0, 0), (0, 0), (0, 0)]
        border[axis] = (window // 2, (window - 1) // 2)
        windows = sliding_window_view(np.pad(means, border, mode="edge"), window, axis)
        means = (windows.sum(-1, dtype=np.float64) / window).astype(np.float32)
    return means


def is_unedited(before: npt.NDArray[np.uint8], after: npt.NDArray[np.uint8]) -> bool:
    """Whether nothing was edited: the image is the same, but for what storing it anew or other noise does.

    Args:
        before, after: (H, W, 3), uint8 RGB.
    """
    return changed_share(before, after, window=UNEDITED_WINDOW) <= UNEDITED_SHARE
