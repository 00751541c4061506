"""Images on the wire: shrunk under a declared limit on the way out, decoded under a cap on the way in.

`origin` reads what a file says about where it comes from: its C2PA manifest and IPTC's digital source type. It is kept
for the record; no signature is checked. A manifest lies in a chunk of its own: `caBX` of PNG, APP11 of JPEG, `C2PA` of
WebP (C2PA Technical Specification 2.1, Embedding manifests). The response cache keeps the whole file.
"""

import base64
import binascii
import hashlib
import io
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import PIL.Image

from cfeval.core.errors import InputError
from cfeval.core.images import Image, TooLargeError, foreign_format, import_encoded
from cfeval.core.records import Status
from cfeval.inference.remote.faults import Fault, record, retry

# Bytes of a PNG over which an editor is sent a JPEG, and of which quality, without chroma subsampling.
JPEG_OVER, JPEG_QUALITY = 4_000_000, 95
# How often an image that came broken is asked for again; each was paid for.
BROKEN_TRIES = 3


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


_SOURCE_TYPE = re.compile(rb"cv\.iptc\.org/newscodes/digitalsourcetype/([A-Za-z]{1,60})")


def origin(content: bytes) -> dict[str, str]:
    """What an image's file says about its origin, for `EditReply.details`; nothing where it says nothing.

    `c2pa`: the length and hash of the manifest. `digital_source_type`: IPTC's terms, in XMP or manifest, sorted.
    """
    details: dict[str, str] = {}
    if manifest := b"".join(_manifest(content)):
        details["c2pa"] = f"{len(manifest)} bytes, sha256 {hashlib.sha256(manifest).hexdigest()}"
    if terms := sorted({term.decode() for term in _SOURCE_TYPE.findall(content)}):
        details["digital_source_type"] = ", ".join(terms)
    return details


def _manifest(content: bytes) -> Iterator[bytes]:
    """The parts of the manifest; none where the file is cut short or of another kind."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        yield from (part for kind, part in _chunks(content, 8, ">I4s", 4) if kind == b"caBX")
    elif content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        yield from (part for kind, part in _chunks(content, 12, "<4sI", 0) if kind == b"C2PA")
    elif content.startswith(b"\xff\xd8"):
        # The JUMBF parts of JPEG's APP11 segments, up to where the pixels begin.
        start = 2
        while start + 4 <= len(content) and content[start] == 0xFF and content[start + 1] != 0xDA:
            (length,) = struct.unpack_from(">H", content, start + 2)
            segment = content[start + 4 : start + 2 + length]
            if content[start + 1] == 0xEB and segment.startswith(b"JP") and segment[12:16] == b"jumb":
                yield segment[8:]
            start += 2 + length


def _chunks(content: bytes, start: int, head: str, after: int) -> Iterator[tuple[bytes, bytes]]:
    """The chunks of PNG, whose content a sum of `after` bytes follows, or of RIFF, which pads them to even lengths."""
    while start + 8 <= len(content):
        first, second = struct.unpack_from(head, content, start)
        kind, length = (second, first) if isinstance(first, int) else (first, second)
        yield kind, content[start + 8 : start + 8 + length]
        start += 8 + length + (after or length % 2)
