"""What the file of an image says about its origin: its C2PA manifest and IPTC's digital source type.

Read as found, for the record; no signature is checked. A manifest lies in a chunk of its own: `caBX` of PNG, APP11 of
JPEG, `C2PA` of WebP (C2PA Technical Specification 2.1, Embedding manifests). The response cache keeps the whole file.
"""

import hashlib
import re
import struct
from collections.abc import Iterator

_SOURCE_TYPE = re.compile(rb"cv\.iptc\.org/newscodes/digitalsourcetype/([A-Za-z]{1,60})")


def origin(content: bytes) -> dict[str, str]:
    """What an image's file says about its origin, for `EditReply.details`; nothing where it says nothing.

    `c2pa`: the length and hash of the manifest. `digital_source_type`: IPTC's terms, in XMP or manifest, sorted.
    """
    found: dict[str, str] = {}
    if manifest := b"".join(_manifest(content)):
        found["c2pa"] = f"{len(manifest)} bytes, sha256 {hashlib.sha256(manifest).hexdigest()}"
    if terms := sorted({term.decode() for term in _SOURCE_TYPE.findall(content)}):
        found["digital_source_type"] = ", ".join(terms)
    return found


def _manifest(content: bytes) -> Iterator[bytes]:
    """The parts of the manifest; none where the file is cut short or of another kind."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        yield from (part for kind, part in _chunks(content, 8, ">I4s", 4) if kind == b"caBX")
    elif content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        yield from (part for kind, part in _chunks(content, 12, "<4sI", 0) if kind == b"C2PA")
    elif content.startswith(b"\xff\xd8"):
        yield from _app11(content)


def _chunks(content: bytes, start: int, head: str, after: int) -> Iterator[tuple[bytes, bytes]]:
    """The chunks of PNG, whose content a sum of `after` bytes follows, or of RIFF, which pads them to even lengths."""
    while start + 8 <= len(content):
        one, other = struct.unpack_from(head, content, start)
        kind, length = (other, one) if isinstance(one, int) else (one, other)
        yield kind, content[start + 8 : start + 8 + length]
        start += 8 + length + (after or length % 2)


def _app11(content: bytes) -> Iterator[bytes]:
    """The JUMBF parts of JPEG's APP11 segments, up to where the pixels begin."""
    start = 2
    while start + 4 <= len(content) and content[start] == 0xFF and content[start + 1] != 0xDA:
        (length,) = struct.unpack_from(">H", content, start + 2)
        segment = content[start + 4 : start + 2 + length]
        if content[start + 1] == 0xEB and segment.startswith(b"JP") and segment[12:16] == b"jumb":
            yield segment[8:]
        start += 2 + length
