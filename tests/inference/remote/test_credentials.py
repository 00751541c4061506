"""What an image's file says about its origin, in files that Pillow writes and reads too."""

import hashlib
import io
import struct
import zlib

import numpy as np
import PIL.Image
import pytest

from cfeval.inference.remote.images import origin
from cfeval.report.pack import COMPOSITE, marked

MANIFEST = b"\x00\x00\x00\x1djumb" + b"a manifest of somebody"
TRAINED = b'"http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"'
SAID = f"{len(MANIFEST)} bytes, sha256 {hashlib.sha256(MANIFEST).hexdigest()}"


def encoded(kind: str, **options: object) -> bytes:
    pixels = np.random.default_rng(3).integers(0, 255, (31, 17, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    PIL.Image.fromarray(pixels).save(buffer, format=kind, **options)
    return buffer.getvalue()


def png(kind: bytes, data: bytes) -> bytes:
    content = encoded("PNG")
    chunk = struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return content[:33] + chunk + content[33:]


def jpeg(data: bytes) -> bytes:
    content = encoded("JPEG")
    segment = b"JP\x00\x01\x00\x00\x00\x01" + data
    return content[:2] + b"\xff\xeb" + struct.pack(">H", len(segment) + 2) + segment + content[2:]


def webp(data: bytes) -> bytes:
    content = encoded("WEBP")
    chunk = b"C2PA" + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
    return b"RIFF" + struct.pack("<I", len(content) - 8 + len(chunk)) + content[8:] + chunk


@pytest.mark.parametrize("content", [png(b"caBX", MANIFEST), jpeg(MANIFEST), webp(MANIFEST)])
def test_a_manifest_is_found_in_every_format(content: bytes) -> None:
    PIL.Image.open(io.BytesIO(content)).load()
    assert origin(content) == {"c2pa": SAID}


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_an_image_that_says_nothing_has_no_origin(kind: str) -> None:
    assert origin(encoded(kind)) == {}


def test_the_source_type_is_read_in_xmp_and_in_a_manifest() -> None:
    assert origin(encoded("JPEG", xmp=TRAINED)) == {"digital_source_type": "trainedAlgorithmicMedia"}
    both = origin(png(b"caBX", MANIFEST + TRAINED))
    assert both["digital_source_type"] == "trainedAlgorithmicMedia"
    assert "c2pa" in both


@pytest.mark.parametrize("content", [png(b"caBX", MANIFEST), jpeg(MANIFEST), webp(MANIFEST), b"", b"\xff\xd8\xff\xeb"])
def test_a_file_that_is_cut_short_anywhere_breaks_nothing(content: bytes) -> None:
    for end in range(0, len(content), 7):
        origin(content[:end])


def test_a_marked_image_says_so_to_other_readers_and_keeps_its_pixels() -> None:
    content = encoded("PNG")
    once = marked(content)
    assert marked(content) == once != content
    with PIL.Image.open(io.BytesIO(once)) as image, PIL.Image.open(io.BytesIO(content)) as before:
        assert COMPOSITE in str(image.info["XML:com.adobe.xmp"])
        assert image.tobytes() == before.tobytes()
    PIL.Image.open(io.BytesIO(once)).verify()
    assert origin(once) == {"digital_source_type": "compositeSynthetic"}
    with pytest.raises(ValueError, match="only PNG"):
        marked(encoded("JPEG"))
