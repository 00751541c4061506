"""Images as the studies pass them around: the PNG file's bytes, its hash, its pixels; and squares cut out of them."""

import errno
import hashlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import PIL.Image
from PIL import ImageOps, UnidentifiedImageError

from cfeval.core.archives import archive_in_place_of
from cfeval.core.errors import InputError
from cfeval.core.records import ImageRef

MAX_PIXELS = 50_000_000
"""The largest image that is taken (about 7,000 × 7,000 pixels); a larger one is refused before it is decoded."""
KEEP = 0.875
"""The share of the shorter side that evaluations on ImageNet keep."""
NO_FORMAT = "not an image in a format Pillow reads"
"""The fault of a file that has no image format known here."""
R = TypeVar("R")
Mask = npt.NDArray[np.bool_]
Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Image:
    """A PNG file in memory."""

    png: bytes

    @cached_property
    def sha256(self) -> str:
        """The hash of the file."""
        return hashlib.sha256(self.png).hexdigest()

    @cached_property
    def pixels(self) -> npt.NDArray[np.uint8]:
        """The pixels, (H, W, 3), uint8 RGB."""
        with PIL.Image.open(io.BytesIO(self.png)) as image:
            return np.asarray(image.convert("RGB"))

    @classmethod
    def from_pixels(cls, pixels: npt.NDArray[np.uint8]) -> "Image":
        """Encode (H, W, 3) uint8 RGB pixels; the same pixels give the same bytes."""
        buffer = io.BytesIO()
        PIL.Image.fromarray(pixels).save(buffer, format="PNG")
        return cls(buffer.getvalue())

    def resized(self, width: int, height: int) -> "Image":
        """The image at another size (Lanczos); itself where it has that size."""
        with PIL.Image.open(io.BytesIO(self.png)) as image:
            if image.size == (width, height):
                return self
            return Image.from_pixels(
                np.asarray(image.convert("RGB").resize((width, height), PIL.Image.Resampling.LANCZOS))
            )

    def reencoded(self, quality: int = 95) -> "Image":
        """The image after one passage through JPEG, without chroma subsampling."""
        buffer = io.BytesIO()
        PIL.Image.fromarray(self.pixels).save(buffer, format="JPEG", quality=quality, subsampling=0)
        with PIL.Image.open(buffer) as image:
            return Image.from_pixels(np.asarray(image.convert("RGB")))

    def ref(self, path: str) -> ImageRef:
        """A reference to this image under a relative path."""
        return ImageRef(path=path, sha256=self.sha256)


def folder_of(records: Path) -> Path:
    """The folder that holds the images of a record file: `X/` beside `X.jsonl`.

    Its files are in the archive `X.zip` where that lies there: they are read by `file_in`, and by nothing else.
    """
    return records.with_suffix("")


def file_in(folder: Path, name: str) -> bytes:
    """The bytes of a file in a folder of images, or in the archive that stands for it.

    Raises:
        OSError: it cannot be read, or would lie outside the folder.
    """
    if _is_outside(name):
        raise OSError(errno.EINVAL, "it would lie outside its folder")
    archive = archive_in_place_of(folder)
    return (folder / name).read_bytes() if archive is None else archive.read(name)


def in_archive(folder: Path) -> bool:
    """Whether an archive, be it a damaged one, stands for a folder of images."""
    try:
        return archive_in_place_of(folder) is not None
    except OSError:
        return True


def names_in(folder: Path) -> list[str]:
    """The names of the files in a folder of images, or in the archive that stands for it; OSError as in `file_in`."""
    if archive := archive_in_place_of(folder):
        return archive.names
    return sorted(file.name for file in folder.iterdir() if file.is_file()) if folder.is_dir() else []


def load(folder: Path, ref: ImageRef) -> Image:
    """Read an image that a record refers to, and check that it is the one the record was written for."""
    path = folder / ref.path
    try:
        image = Image(file_in(folder, ref.path))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot read the image ({why}); run the step that makes it again") from None
    if image.sha256 != ref.sha256:
        raise InputError(f"{path}: not the image its record names (SHA-256 differs); run the step that makes it again")
    return image


def fault_of(folder: Path, ref: ImageRef) -> str:
    """What is wrong with the image that a record names; empty where nothing is. It is not decoded.

    Nothing outside the folder is opened, whatever the record says.
    """
    if _is_outside(ref.path):
        return f"its image {ref.path[:60]!r} would lie outside its folder"
    try:
        same = hashlib.sha256(file_in(folder, ref.path)).hexdigest() == ref.sha256
    except (OSError, ValueError) as error:
        return f"its image {ref.path[:60]!r} cannot be read ({getattr(error, 'strerror', None) or error})"
    return "" if same else f"its image {ref.path[:60]!r} is another than the one its record names (SHA-256 differs)"


def _is_outside(name: str) -> bool:
    place = PurePosixPath(name)
    return place.is_absolute() or ".." in place.parts


def import_image(path: Path) -> Image:
    """Read any still image file as an RGB PNG: EXIF rotation applied, transparency laid on white.

    Raises:
        InputError: missing, empty, truncated, not an image, animated, or over `MAX_PIXELS`.
    """
    return _imported(path, path, lambda: path.stat().st_size == 0)


def check_image(path: Path) -> None:
    """Refuse what `import_image` refuses; quicker: a JPEG is decoded at an eighth of its size.

    Raises:
        InputError: like `import_image`.
    """

    def decode(image: PIL.Image.Image) -> None:
        image.draft("L", (image.width // 8, image.height // 8))
        image.load()

    _open(path, path, lambda: path.stat().st_size == 0, decode)


def import_encoded(content: bytes, name: str) -> Image:
    """Like `import_image`, for the bytes of an image file; `name` is what an error calls it."""
    return _imported(io.BytesIO(content), name, lambda: not content)


def _imported(source: Path | io.BytesIO, name: object, is_empty: Callable[[], bool]) -> Image:
    return _open(
        source, name, is_empty, lambda image: Image.from_pixels(np.asarray(on_white(ImageOps.exif_transpose(image))))
    )


def _open(
    source: Path | io.BytesIO, name: object, is_empty: Callable[[], bool], use: Callable[[PIL.Image.Image], R]
) -> R:
    """What `use` makes of an image file; InputError where it is none, or is not taken."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PIL.Image.DecompressionBombWarning)
            with PIL.Image.open(source) as image:
                _refuse_unusable(name, image)
                return use(image)
    except FileNotFoundError:
        raise InputError(f"{name}: no such image file") from None
    except IsADirectoryError:
        raise InputError(f"{name}: is a folder, an image file is needed") from None
    except PermissionError:
        raise InputError(f"{name}: no permission to read the file") from None
    except PIL.Image.DecompressionBombError:
        raise InputError(f"{name}: over {MAX_PIXELS:,} pixels; make it smaller") from None
    except UnidentifiedImageError:
        what = "the file is empty" if is_empty() else f"{NO_FORMAT} (PNG, JPEG, WebP, …)"
        raise InputError(f"{name}: {what}") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"{name}: broken or truncated image ({error})") from None


def _refuse_unusable(name: object, image: PIL.Image.Image) -> None:
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise InputError(f"{name}: {width} × {height} pixels; at most {MAX_PIXELS:,} are allowed: make it smaller")
    if (frames := getattr(image, "n_frames", 1)) > 1:
        raise InputError(f"{name}: an animation of {frames} frames; save the frame you mean as a still image")


def on_white(image: PIL.Image.Image) -> PIL.Image.Image:
    """An image as RGB, transparency laid on white."""
    if not image.has_transparency_data:
        return image.convert("RGB")
    layered = image.convert("RGBA")
    white = PIL.Image.new("RGBA", layered.size, "white")
    return PIL.Image.alpha_composite(white, layered).convert("RGB")


def center_crop(image: Image, size: int, share: float, name: object, enlarge: bool = False) -> Image:
    """The middle of an image as a square of `size` pixels a side, `share` of its shorter side long.

    As the evaluations on ImageNet do it: the shorter side becomes ⌊size / share⌋ (bicubic), then the middle is cut out.

    Raises:
        InputError: the square has fewer pixels than `size` a side, and `enlarge` does not allow that; names `name`.
    """
    with PIL.Image.open(io.BytesIO(image.png)) as opened:
        whole = opened.convert("RGB")
    shorter = int(size / share)
    if min(whole.size) < shorter and not enlarge:
        raise InputError(
            f"{name}: {whole.width} × {whole.height} pixels are too few for a square of {size} "
            f"(the shorter side must have {shorter}); leave it out, or take a smaller size"
        )
    width, height = (shorter * side // min(whole.size) for side in whole.size)
    resized = whole.resize((width, height), PIL.Image.Resampling.BICUBIC)
    top, left = round((height - size) / 2), round((width - size) / 2)
    return Image.from_pixels(np.asarray(resized)[top : top + size, left : left + size])
