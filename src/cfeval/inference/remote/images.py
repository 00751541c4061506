"""Images on the wire: shrunk under a declared limit on the way out, decoded under a cap on the way in."""

import base64
import binascii
import io
import struct
import threading
import warnings

import numpy as np
import PIL.Image

from cfeval.core.images import MAX_PIXELS, Image, on_white
from cfeval.core.records import Status
from cfeval.inference.remote.faults import Fault, record, retry


def under(image: Image, max_pixels: int | None) -> Image:
    """The image itself, or where it has more pixels than allowed, shrunk with its proportions (Lanczos)."""
    if max_pixels is None:
        return image
    with PIL.Image.open(io.BytesIO(image.png)) as opened:
        width, height = opened.size
    if width * height <= max_pixels:
        return image
    factor = (max_pixels / (width * height)) ** 0.5
    return image.resized(max(1, int(width * factor)), max(1, int(height * factor)))


def data_url(image: Image) -> str:
    """An image as a `data:` URL."""
    return f"data:image/png;base64,{base64.b64encode(image.png).decode()}"


def of_data_url(url: str) -> bytes | Fault:
    """The bytes in a `data:` URL; another address is not fetched."""
    if not url.startswith("data:"):
        return record("no_image", Status.NO_IMAGE, "the provider sent an address instead of an image")
    return of_base64(url.partition(",")[2])


def of_base64(text: str) -> bytes | Fault:
    """The bytes in a base64 text."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return retry("bad_image", "the image is not valid base64", status=Status.NO_IMAGE, sent=True)


FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
"""What an image may come as: Pillow hands some of the others to programs outside."""
_ALONE = threading.Lock()


def decode(content: bytes) -> Image | Fault:
    """The image of a file, transparency laid on white, as in samples.

    A broken one may come whole the next time, one over `MAX_PIXELS` will not.
    """
    try:
        with _opened(content) as image:
            if image.width * image.height > MAX_PIXELS:
                return _too_large(f"{image.width} × {image.height}")
            return Image.from_pixels(np.asarray(on_white(image)))
    except PIL.Image.DecompressionBombError:
        return _too_large("far too many")
    except (OSError, SyntaxError, ValueError, LookupError, TypeError, struct.error) as error:
        return retry(
            "bad_image", f"broken image ({' '.join(str(error).split())[:80]})", status=Status.NO_IMAGE, sent=True
        )


def _opened(content: bytes) -> PIL.Image.Image:
    with _ALONE, warnings.catch_warnings():  # the filters of warnings are those of all threads
        warnings.simplefilter("ignore", PIL.Image.DecompressionBombWarning)
        return PIL.Image.open(io.BytesIO(content), formats=FORMATS)


def _too_large(size: str) -> Fault:
    return record("no_image", Status.NO_IMAGE, f"the image has {size} pixels; at most {MAX_PIXELS:,} are decoded")
