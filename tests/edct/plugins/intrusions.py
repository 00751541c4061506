"""What an editor may leave beside an edit, of a kind, in a place and of a size: drawn into an image of any size."""

from collections.abc import Callable

import cv2
import numpy as np

from tests.edct.plugins.photographs import Mask, Pixels

Intrusion = Callable[[Pixels, int, int, int], None]
"""Draws into an image: column and row of the corner, and the side of the place."""


def _contrast(pixels: Pixels, x: int, y: int, side: int) -> int:
    return 0 if pixels[y : y + side, x : x + side].mean() > 127 else 255


def _text(pixels: Pixels, x: int, y: int, side: int) -> None:
    value = _contrast(pixels, x, y, side)
    scale, thick = side / 22, max(1, side // 10)
    cv2.putText(pixels, "A", (x, y + side - 1), cv2.FONT_HERSHEY_SIMPLEX, scale, (value,) * 3, thick, cv2.LINE_AA)


def _sticker(pixels: Pixels, x: int, y: int, side: int) -> None:
    pixels[y : y + side, x : x + side] = (255, 255, 0) if _contrast(pixels, x, y, side) else (60, 0, 60)


def _line(pixels: Pixels, x: int, y: int, side: int) -> None:
    value = _contrast(pixels, x, y, side)
    cv2.line(pixels, (x, y), (x + side - 1, y + side - 1), (value,) * 3, max(1, side // 6))


def _frame(pixels: Pixels, x: int, y: int, side: int) -> None:
    value = _contrast(pixels, x, y, side)
    cv2.rectangle(pixels, (x, y), (x + side - 1, y + side - 1), (value,) * 3, max(1, side // 8))


def _patch(pixels: Pixels, x: int, y: int, side: int) -> None:
    part = pixels[y : y + side, x : x + side].astype(int)
    pixels[y : y + side, x : x + side] = np.clip(part + np.array([70, -50, -50]), 0, 255)


INTRUSIONS: dict[str, Intrusion] = {
    "text": _text,
    "sticker": _sticker,
    "line": _line,
    "frame": _frame,
    "patch": _patch,
}


def with_intrusion(pixels: Pixels, kind: str, off: Mask, share: float, seed: int) -> Pixels | None:
    """The image with an intrusion of `share` of its longer side, off a mask; None where there is no room for it."""
    rng, (height, width) = np.random.default_rng(seed), pixels.shape[:2]
    side = max(3, round(share * max(height, width)))
    for _ in range(100):
        x, y = int(rng.integers(0, width - side + 1)), int(rng.integers(0, height - side + 1))
        if not off[y : y + side, x : x + side].any():
            drawn = pixels.copy()
            INTRUSIONS[kind](drawn, x, y, side)
            return drawn
    return None
