"""Images as the studies pass them around: the PNG file's bytes, its hash, its pixels; and squares cut out of them."""

import errno
import hashlib
import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import PIL.Image
from PIL import UnidentifiedImageError

from cfeval.core.errors import InputError
from cfeval.core.files import archive_in_place_of
from cfeval.core.image_conversions import as_layers, as_rgb, is_deep
from cfeval.core.records import ImageRef

# The largest image that is taken (about 7,000 × 7,000 pixels); a larger one is refused before it is decoded.
MAX_PIXELS = 50_000_000
# The share of the shorter side that evaluations on ImageNet keep.
KEEP = 0.875
# The fault of a file that has no image format known here.
NO_FORMAT = "not an image in a format Pillow reads"
# What an image may come as, where Pillow can read it: some of its other formats are handed to programs outside.
FORMATS = (
    *("PNG", "JPEG", "MPO", "WEBP", "GIF", "AVIF", "HEIF", "JPEG2000", "TIFF", "BMP", "DIB", "PPM", "TGA", "ICO"),
    *("PCX", "SGI", "QOI", "ICNS"),
)
# How files of other formats begin, and of those in `FORMATS` that not every build of Pillow reads.
_SIGNATURES = (
    (re.compile(rb"....ftyp(avif|avis)", re.DOTALL), "AVIF"),
    (re.compile(rb"....ftyp(hei|hev|mif1|msf1)", re.DOTALL), "HEIF"),
    (re.compile(rb"....ftyp", re.DOTALL), "video or raw"),
    (re.compile(rb"\xff\x0a|\0\0\0\x0cJXL "), "JPEG XL"),
    (re.compile(rb"%!PS"), "EPS"),
    (re.compile(rb"%PDF"), "PDF"),
    (re.compile(rb"\s*<svg"), "SVG"),
    (re.compile(rb"8BPS"), "PSD"),
)
# Formats whose first image is taken; several of another format are an animation.
SEVERAL = ("MPO", "TIFF", "HEIF")
R = TypeVar("R")
Mask = npt.NDArray[np.bool_]
Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Image:
    """A PNG file in memory; `conversions` are what was done to the image that it was read from."""

    png: bytes
    conversions: tuple[str, ...] = field(default=(), compare=False)

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
    def from_pixels(cls, pixels: npt.NDArray[np.uint8], conversions: tuple[str, ...] = ()) -> "Image":
        """Encode (H, W, 3) uint8 RGB pixels; the same pixels give the same bytes."""
        buffer = io.BytesIO()
        PIL.Image.fromarray(pixels).save(buffer, format="PNG")
        return cls(buffer.getvalue(), conversions)

    def resized(self, width: int, height: int) -> "Image":
        """The image at another size (Lanczos); itself where it has that size."""
        with PIL.Image.open(io.BytesIO(self.png)) as image:
            if image.size == (width, height):
                return self
            resized = image.convert("RGB").resize((width, height), PIL.Image.Resampling.LANCZOS)
            return Image.from_pixels(np.asarray(resized), self.conversions)

    def reencoded(self, quality: int = 95) -> "Image":
        """The image after one passage through JPEG, without chroma subsampling."""
        buffer = io.BytesIO()
        PIL.Image.fromarray(self.pixels).save(buffer, format="JPEG", quality=quality, subsampling=0)
        with PIL.Image.open(buffer) as image:
            return Image.from_pixels(np.asarray(image.convert("RGB")))

    def ref(self, path: str) -> ImageRef:
        """A reference to this image under a relative path."""
        return ImageRef(path=path, sha256=self.sha256, conversions=self.conversions)


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
        image = Image(file_in(folder, ref.path), ref.conversions)
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


class TooLargeError(InputError):
    """An image has more than `MAX_PIXELS`."""


def import_image(path: Path) -> Image:
    """Read an image from any still image file as an RGB PNG, by the rules of `cfeval.core.image_conversions`.

    Raises:
        InputError: missing, empty, truncated, not an image, animated, or over `MAX_PIXELS`.
    """
    return _open(path, path, lambda image: _imported(image, path))


def import_encoded(content: bytes, name: str, animated: bool = False) -> Image:
    """Like `import_image`, for the bytes of an image file.

    Args:
        content: the bytes.
        name: what an error calls them.
        animated: whether the first image of an animation is taken.

    Raises:
        TooLargeError, InputError: like `import_image`.
    """
    return _open(io.BytesIO(content), name, lambda image: _imported(image, name, animated))


def import_layers(source: Path | bytes, name: object) -> npt.NDArray[np.uint8]:
    """The pixels of an image file with its transparency, (H, W, 4), uint8 RGBA; otherwise like `import_image`."""

    def layers(image: PIL.Image.Image) -> npt.NDArray[np.uint8]:
        _first(name, image, False)
        return np.asarray(as_layers(image)[0].convert("RGBA"))

    return _open(source if isinstance(source, Path) else io.BytesIO(source), name, layers)


def check_image(path: Path) -> None:
    """Refuse what `import_image` refuses; quicker: a JPEG is decoded at an eighth of its size.

    Raises:
        InputError: like `import_image`.
    """

    def decode(image: PIL.Image.Image) -> None:
        _first(path, image, False)
        if is_deep(image.mode):
            as_rgb(image)
            return
        if image.format in ("JPEG", "MPO"):
            image.draft("L", (image.width // 8, image.height // 8))
        image.load()

    _open(path, path, decode)


def size_and_mode(path: Path) -> tuple[int, int, str]:
    """Width, height and Pillow's mode of an image file, which is not decoded; InputError where it is none."""
    return _open(path, path, lambda image: (*image.size, image.mode))


def _imported(image: PIL.Image.Image, name: object, animated: bool = False) -> Image:
    first = _first(name, image, animated)
    rgb, done = as_rgb(image)
    return Image.from_pixels(np.asarray(rgb), (*first, *done))


def _open(source: Path | io.BytesIO, name: object, use: Callable[[PIL.Image.Image], R]) -> R:
    """What `use` makes of an image file; InputError where it is none, or is not taken."""
    try:
        # By a stream: Pillow maps a TIFF that is named by its path, and then does not turn it upright.
        stream = source if isinstance(source, io.BytesIO) else source.open("rb")
        is_empty = not stream.seek(0, io.SEEK_END)
        stream.seek(0)
        with stream, PIL.Image.open(stream, formats=_readable()) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise TooLargeError(
                    f"{name}: {width} × {height} pixels; at most {MAX_PIXELS:,} are allowed: make it smaller"
                )
            return use(image)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"{name}: no such image file") from None
    except IsADirectoryError:
        raise InputError(f"{name}: is a folder, an image file is needed") from None
    except PermissionError:
        raise InputError(f"{name}: no permission to read the file") from None
    except PIL.Image.DecompressionBombError:
        raise TooLargeError(f"{name}: over {MAX_PIXELS:,} pixels; make it smaller") from None
    except UnidentifiedImageError:
        if is_empty:
            raise InputError(f"{name}: the file is empty") from None
        raise InputError(f"{name}: {NO_FORMAT} (PNG, JPEG, WebP, …)") from None
    except Exception as error:  # Pillow's parsers raise whatever a damaged file makes them stumble over
        raise InputError(f"{name}: broken or truncated image ({' '.join(str(error).split())[:120]})") from None


@cache
def _readable() -> tuple[str, ...]:
    """Those of `FORMATS` that Pillow has a decoder for; HEIC is pillow-heif's."""
    import pillow_heif

    PIL.Image.init()
    pillow_heif.register_heif_opener()
    return tuple(name for name in FORMATS if name in PIL.Image.OPEN)


def foreign_format(content: bytes) -> str:
    """The format of an image file that cannot be read here, by how it begins; empty for any other content."""
    named = next((name for form, name in _SIGNATURES if form.match(content)), "")
    return "" if named in _readable() else named


def _first(name: object, image: PIL.Image.Image, animated: bool) -> tuple[str, ...]:
    """What to say of a file of several images, the first of which is taken; InputError where it is an animation."""
    frames = getattr(image, "n_frames", 1)
    if frames == 1:
        return ()
    if image.format not in SEVERAL and not animated:
        raise InputError(f"{name}: an animation of {frames} frames; save the frame you mean as a still image")
    return (f"first of {frames} images taken",)


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
    return Image.from_pixels(np.asarray(resized)[top : top + size, left : left + size], image.conversions)
