"""Images the server hands out: a deterministic edit of what came in, and files that no client should trust."""

import base64
import binascii
import hashlib
import io
import struct
import zlib
from functools import lru_cache

import numpy as np
import PIL.Image

BOMB_SIDE = 30_000
"""Width and height of the bomb, pixels: about 110 kB as a file, 2.7 GB as RGB."""


class NotAnImageError(Exception):
    """What a request carries as an image cannot be decoded."""


def digest(*parts: bytes | str) -> bytes:
    """SHA-256 over parts; where one part ends and the next begins counts."""
    sha = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        sha.update(len(raw).to_bytes(8, "big") + raw)
    return sha.digest()


def from_base64(text: str) -> bytes:
    """The bytes of base64 text, with or without a `data:` head.

    Raises:
        NotAnImageError: the text is not base64.
    """
    try:
        return base64.b64decode(text.partition(",")[2] if text.startswith("data:") else text, validate=True)
    except binascii.Error as error:
        raise NotAnImageError(str(error)) from None


def data_url(raw: bytes, mime: str = "image/png") -> str:
    """Bytes as a data URL."""
    return f"data:{mime};base64,{base64.b64encode(raw).decode()}"


@lru_cache(maxsize=1024)
def edited(source: bytes, prompt: str) -> bytes:
    """The input at its own size with one patch recoloured; prompt and input decide place and colour. Returns a PNG.

    Every pixel of the patch changes by 64 to 191 of 255 in every channel, so no edit is a no-op.

    Raises:
        NotAnImageError: the source cannot be decoded.
    """
    try:
        with PIL.Image.open(io.BytesIO(source)) as image:
            pixels = np.array(image.convert("RGB"))
    except (OSError, ValueError) as error:
        raise NotAnImageError(str(error)) from None
    height, width = pixels.shape[:2]
    chosen = digest(source, prompt)
    tall, wide = max(1, height // 3), max(1, width // 3)
    top, left = chosen[0] % (height - tall + 1), chosen[1] % (width - wide + 1)
    pixels[top : top + tall, left : left + wide] += np.array([64 + b % 128 for b in chosen[2:5]], dtype=np.uint8)
    return png(pixels)


@lru_cache(maxsize=1024)
def drawn(seed: str, size: tuple[int, int] = (64, 64)) -> bytes:
    """An image from a text alone, for requests without an input; `size` is (width, height). Returns a PNG."""
    chosen = digest(seed)
    pixels = np.full((size[1], size[0], 3), tuple(chosen[:3]), dtype=np.uint8)
    pixels[: size[1] // 2] = tuple(chosen[3:6])
    return png(pixels)


def png(pixels: "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]", level: int = 6) -> bytes:
    """Pixels, (H, W, 3) or (H, W, 4) uint8, as a PNG file."""
    buffer = io.BytesIO()
    PIL.Image.fromarray(pixels).save(buffer, "PNG", compress_level=level)
    return buffer.getvalue()


def encoded_again(source: bytes) -> bytes:
    """The same pixels in another file: what a server does that re-encodes and edits nothing."""
    with PIL.Image.open(io.BytesIO(source)) as image:
        pixels = np.asarray(image.convert("RGB"))
    return png(pixels, level=0)


def half_transparent(source: bytes) -> bytes:
    """The image with an alpha channel whose left half is see-through."""
    with PIL.Image.open(io.BytesIO(source)) as image:
        pixels = np.array(image.convert("RGBA"))
    pixels[:, : pixels.shape[1] // 2, 3] = 0
    return png(pixels)


@lru_cache(maxsize=1)
def bomb() -> bytes:
    """A valid PNG of 30,000 × 30,000 one-bit pixels: small on the wire, enormous when decoded."""
    head = struct.pack(">IIBBBBB", BOMB_SIDE, BOMB_SIDE, 1, 0, 0, 0, 0)
    data = _zeros((1 + (BOMB_SIDE + 7) // 8) * BOMB_SIDE)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _zeros(count: int, blocks: int = 30) -> bytes:
    """A zlib stream of zeros, from one compressed block repeated: compressing them all would hold the server up."""
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    block = packer.compress(bytes(count // blocks)) + packer.flush(zlib.Z_FULL_FLUSH)
    adler = (count % 65521) << 16 | 1  # of zeros: the second sum counts them, the first stays 1
    return b"\x78\xda" + block * blocks + b"\x03\x00" + struct.pack(">I", adler)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
