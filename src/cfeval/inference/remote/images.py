"""Images on the wire: shrunk under a declared limit on the way out, decoded under a cap on the way in."""

import base64
import binascii
import io
from dataclasses import dataclass
from typing import Literal

import PIL.Image

from cfeval.core.errors import InputError
from cfeval.core.images import Image, TooLargeError, foreign_format, import_encoded
from cfeval.core.records import Status
from cfeval.inference.remote.faults import Fault, record, retry

JPEG_OVER, JPEG_QUALITY = 4_000_000, 95
"""Bytes of a PNG over which an editor is sent a JPEG, and of which quality, without chroma subsampling."""
BROKEN_TRIES = 3
"""How often an image that came broken is asked for again; each was paid for."""


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


@dataclass(frozen=True)
class Encoded:
    """An image as it goes to an editor: the file's bytes and their media type."""

    image: Image
    content: bytes
    media_type: Literal["image/png", "image/jpeg"] = "image/png"

    @property
    def base64(self) -> str:
        """The bytes as base64."""
        return base64.b64encode(self.content).decode()

    @property
    def data_url(self) -> str:
        """The bytes as a `data:` URL."""
        return f"data:{self.media_type};base64,{self.base64}"

    @property
    def file(self) -> tuple[str, bytes, str]:
        """Name, bytes and media type, for a form."""
        return (f"image.{self.media_type.removeprefix('image/')}", self.content, self.media_type)


def encoded(image: Image, lossless: bool = False) -> Encoded:
    """An image as PNG; over `JPEG_OVER` bytes as JPEG of high quality, unless it must be lossless."""
    if lossless or len(image.png) <= JPEG_OVER:
        return Encoded(image, image.png)
    buffer = io.BytesIO()
    PIL.Image.fromarray(image.pixels).save(buffer, format="JPEG", quality=JPEG_QUALITY, subsampling=0)
    return Encoded(image, buffer.getvalue(), "image/jpeg")


def data_url(image: Image) -> str:
    """An image as a `data:` URL."""
    return Encoded(image, image.png).data_url


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
        reason = "the image is not valid base64"
        return retry("bad_image", reason, status=Status.NO_IMAGE, sent=True, tries=BROKEN_TRIES)


def decode(content: bytes) -> Image | Fault:
    """The image of an image file, by the same rules as a sample's (`cfeval.core.images`).

    A broken one may come whole the next time; one in a format without a decoder, or over `MAX_PIXELS`, will not. A
    later run asks again for what another installation could read.
    """
    try:
        return import_encoded(content, "the image", animated=True)
    except TooLargeError as error:
        return record("no_image", Status.NO_IMAGE, str(error))
    except InputError as error:
        if foreign := foreign_format(content):
            reason = f"the image came as {foreign}, which cannot be read here; ask the provider for PNG, JPEG or WebP"
            return record("image_format", Status.NO_IMAGE, reason, final=False, sent=True)
        return retry("bad_image", str(error), status=Status.NO_IMAGE, sent=True, tries=BROKEN_TRIES)
