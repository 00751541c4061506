"""Real photographs that come with scikit-image, and what is done to them: edits in a known place, ways of storage."""

import functools
import io
from collections.abc import Callable

import cv2
import numpy as np
import numpy.typing as npt
import PIL.Image
import skimage.data

Pixels = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Change = Callable[[Pixels], Pixels]
NAMES = ("astronaut", "coffee", "chelsea", "rocket", "immunohistochemistry")


@functools.cache
def photograph(name: str, side: int = 0) -> Pixels:
    """A photograph, (H, W, 3); `side` is the length of its longer side where another than its own is wanted."""
    pixels = np.ascontiguousarray(getattr(skimage.data, name)()[..., :3])
    factor = side / max(pixels.shape) if side else 1
    return pixels if factor == 1 else resized(pixels, factor)


def resized(pixels: Pixels, factor: float) -> Pixels:
    how = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(pixels, None, fx=factor, fy=factor, interpolation=how))


def gray(pixels: Pixels) -> Pixels:
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY))


def ellipse(shape: tuple[int, ...], across: float = 0.5, down: float = 0.5, radius: float = 0.15) -> Mask:
    """A round place; center and radius in shares of width, height and the longer side."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    away = np.hypot(columns - across * shape[1], rows - down * shape[0])
    return np.asarray(away < radius * max(shape))


def tinted(pixels: Pixels, place: Mask, color: tuple[int, int, int] = (220, 30, 30)) -> Pixels:
    """The place dyed in another color, its texture kept."""
    return np.where(place[..., None], (pixels * 0.5 + np.array(color) * 0.5), pixels).astype(np.uint8)


def removed(pixels: Pixels, place: Mask) -> Pixels:
    """The place filled with what is around it."""
    small = resized(pixels, 256 / max(pixels.shape))
    hole = cv2.resize(place.astype(np.uint8), small.shape[1::-1])
    filled = cv2.inpaint(small, hole, 3, cv2.INPAINT_TELEA)
    return np.where(place[..., None], cv2.resize(filled, pixels.shape[1::-1]), pixels)


def pasted(pixels: Pixels, place: Mask) -> Pixels:
    """Another photograph in the place."""
    other = cv2.resize(photograph("rocket"), pixels.shape[1::-1])
    return np.where(place[..., None], other, pixels)


def jpeg(quality: int) -> Change:
    def cache(pixels: Pixels) -> Pixels:
        file = io.BytesIO()
        PIL.Image.fromarray(pixels).save(file, "JPEG", quality=quality)
        return np.asarray(PIL.Image.open(file).convert("RGB"))

    return cache


def softened(factor: float) -> Change:
    """Shrunk and enlarged again, as by the autoencoder of an editing model."""
    return lambda pixels: np.asarray(
        cv2.resize(resized(pixels, factor), pixels.shape[1::-1], interpolation=cv2.INTER_CUBIC)
    )


def brighter(by: int) -> Change:
    return lambda pixels: np.clip(pixels.astype(int) + by, 0, 255).astype(np.uint8)


def blurred(deviation: float) -> Change:
    return lambda pixels: np.asarray(cv2.GaussianBlur(pixels, (0, 0), deviation))


def moved(across: float, down: float, zoom: float = 1.0, degrees: float = 0.0) -> Change:
    """Shifted by pixels, zoomed and turned around the middle; the border is repeated."""

    def move(pixels: Pixels) -> Pixels:
        height, width = pixels.shape[:2]
        matrix = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, zoom)
        matrix[:, 2] += across, down
        border = cv2.BORDER_REPLICATE
        return np.asarray(cv2.warpAffine(pixels, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=border))

    return move


def bent(share: float) -> Change:
    """Bent in slow waves whose height is a share of the longer side."""

    def bend(pixels: Pixels) -> Pixels:
        side = max(pixels.shape)
        rows, columns = np.mgrid[: pixels.shape[0], : pixels.shape[1]].astype(np.float32)
        wave = 2 * np.pi / (0.35 * side)
        x, y = columns + share * side * np.sin(wave * rows), rows + share * side * np.sin(wave * columns)
        x, y = x.astype(np.float32), y.astype(np.float32)
        return np.asarray(cv2.remap(pixels, x, y, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE))

    return bend


def both(*changes: Change) -> Change:
    def change(pixels: Pixels) -> Pixels:
        for one in changes:
            pixels = one(pixels)
        return pixels

    return change
