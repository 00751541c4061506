"""The flowers of a set: the project's own designs, or image files of a folder that the user names."""

from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from cfeval.errors import InputError
from cfeval.io.pictures import MAX_PIXELS
from cfeval.world.puzzles.canvas import Canvas
from cfeval.world.puzzles.designs import DESIGNS

SUFFIXES = {".png", ".jpg", ".jpeg"}
_WHITE = 235
"""A pixel all of whose channels are above belongs to the white around an icon, if it is joined to its border."""

_HELD = 256
"""Pixels across that are kept of a larger icon: more than is ever drawn."""


class Icons(Protocol):
    """Flowers that can be drawn."""

    @property
    def names(self) -> tuple[str, ...]:
        """What there is to choose from."""
        ...

    def sprite(self, name: str, radius: int) -> Image.Image:
        """A flower as RGBA, twice the radius wide and high; it is transparent outside the circle."""
        ...


class DrawnIcons:
    """The project's own designs."""

    names = tuple(DESIGNS)

    def sprite(self, name: str, radius: int) -> Image.Image:
        """See `Icons.sprite`."""
        return _drawn(name, radius)


@lru_cache(maxsize=64)
def _drawn(name: str, radius: int) -> Image.Image:
    canvas = Canvas(radius)
    DESIGNS[name](canvas)
    return canvas.sprite()


class FolderIcons:
    """Image files (PNG or JPEG) in a folder and the folders in it, such as the flowers of Icons-50.

    Raises:
        InputError: one line: no such folder, no images in it, or one that cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self._files = _files_in(folder)
        self._cut = {name: _cut_out(path) for name, path in self._files.items()}
        self._sprites: dict[tuple[str, int], Image.Image] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The files, by their paths in the folder."""
        return tuple(self._files)

    def sprite(self, name: str, radius: int) -> Image.Image:
        """See `Icons.sprite`."""
        if (name, radius) not in self._sprites:
            self._sprites[name, radius] = _fitted(self._cut[name], radius)
        return self._sprites[name, radius]


def icons_of(folder: Path | None) -> Icons:
    """The flowers of a folder, or the project's own; InputError like `FolderIcons`."""
    return FolderIcons(folder) if folder else DrawnIcons()


def _files_in(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; it should hold the flowers' image files (PNG or JPEG)")
    found = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    files = {path.relative_to(folder).as_posix(): path for path in found if not path.name.startswith(".")}
    if not files:
        raise InputError(f"{folder}: holds no image file (PNG or JPEG), nor does any folder in it")
    return dict(sorted(files.items()))


def _cut_out(path: Path) -> Image.Image:
    """An icon without what is transparent or white around it, a square whose inscribed circle holds all of it."""
    try:
        with Image.open(path) as image:
            if image.width * image.height > MAX_PIXELS:
                raise InputError(f"{path}: over {MAX_PIXELS:,} pixels; make it smaller")
            pixels = np.array(image.convert("RGBA"))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"{path}: not an image that can be read ({error}); take it out of the folder") from None
    pixels[_around(pixels), 3] = 0
    rows, columns = np.nonzero(pixels[..., 3] > 0)
    if not len(rows):
        raise InputError(f"{path}: shows nothing but white or transparent pixels; take it out of the folder")
    y, x = (int(rows.min()) + int(rows.max()) + 1) / 2, (int(columns.min()) + int(columns.max()) + 1) / 2
    squared = (np.abs(rows + 0.5 - y) + 0.5) ** 2 + (np.abs(columns + 0.5 - x) + 0.5) ** 2
    reach = float(np.sqrt(squared.max()))
    box = tuple(round(value) for value in (x - reach, y - reach, x + reach, y + reach))
    icon = Image.fromarray(pixels).crop(box)  # type: ignore[arg-type]
    return icon if icon.width <= _HELD else icon.resize((_HELD, _HELD), Image.Resampling.BOX)


def _around(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """The white pixels that are joined to the border by white or transparent ones."""
    from scipy import ndimage

    blank = (pixels[..., :3] > _WHITE).all(axis=2) | (pixels[..., 3] == 0)
    labels, _ = ndimage.label(np.pad(blank, 1, constant_values=True))
    return np.asarray(labels[1:-1, 1:-1] == labels[0, 0])


def _fitted(icon: Image.Image, radius: int) -> Image.Image:
    """An icon at the size at which it is drawn; a mask keeps the resampled edge within the circle."""
    small = icon.resize(
        (2 * radius, 2 * radius), Image.Resampling.BOX if icon.width > 8 * radius else Image.Resampling.BICUBIC
    )
    mask = Canvas(radius)
    mask.disc(0, 0, 1, (255, 255, 255))
    alpha = np.minimum(np.asarray(small)[..., 3], np.asarray(mask.sprite())[..., 3])
    small.putalpha(Image.fromarray(alpha))
    return small
