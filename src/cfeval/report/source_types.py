"""The mark of edited images that leave a study: IPTC's digital source type, in the XMP of a PNG file.

Images within a study have no mark: a target might read it, and its bytes are a part of what results rest on. The mark
says that a part of the image is synthetic, whoever made it (IPTC NewsCodes, Digital Source Type).
"""

import struct
import zlib

COMPOSITE = "http://cv.iptc.org/newscodes/digitalsourcetype/compositeSynthetic"
"""A composite with at least one synthetic part."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_AFTER_HEADER = len(_SIGNATURE) + 25
"""The first chunk of every PNG file, IHDR, has 13 bytes of content and 12 around it."""
_XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description rdf:about="" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" '
    f'Iptc4xmpExt:DigitalSourceType="{COMPOSITE}"/></rdf:RDF></x:xmpmeta>'
)


def marked(content: bytes) -> bytes:
    """A PNG file that says that it is a composite; the same file and mark give the same bytes, pixels stay as they are.

    Raises:
        ValueError: it is no PNG file.
    """
    if not content.startswith(_SIGNATURE):
        raise ValueError("only PNG files are marked")
    kind, data = b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + _XMP.encode()
    chunk = struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return content[:_AFTER_HEADER] + chunk + content[_AFTER_HEADER:]
