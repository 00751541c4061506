"""A report as one ZIP archive that opens anywhere: the page with its images inside, and the tables as files.

Images are thumbnails within the page, or by choice full size beside it.
"""

import html
import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from urllib.parse import unquote
from zipfile import ZIP_DEFLATED, ZipFile

from cfeval.core.errors import InputError
from cfeval.core.files import entry, write_bytes_by
from cfeval.core.images import Image
from cfeval.report.html import data_url, script_json

PAGE = "report.html"
EDITED = "counterfactuals"
"""The folder of the stage that edits: full-size copies of its images say in their file that they are composites."""
THUMBNAIL = 320
"""In pixels: the longer side of an image within the page."""
_IMAGE = re.compile(r'(<img src=")([^"]+)(")')
_FILE = re.compile(r'(<a href=")([^"]+)(" download>)')
_ABOUT = re.compile(r'(<script type="application/json" id="about">)(.*?)(</script>)')
_ROWS = re.compile(r'(<script type="application/json" id="rows">)(.*?)(</script>)')
_ITEMS = "items"
"""The folder of items that the page loads on demand."""
COMPOSITE = "http://cv.iptc.org/newscodes/digitalsourcetype/compositeSynthetic"
"""IPTC's digital source type of a composite with at least one synthetic part."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# The first chunk of every PNG file, IHDR, has 13 bytes of content and 12 around it.
_AFTER_HEADER = len(_SIGNATURE) + 25
_XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description rdf:about="" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" '
    f'Iptc4xmpExt:DigitalSourceType="{COMPOSITE}"/></rdf:RDF></x:xmpmeta>'
)


def pack(page: Path, out: Path, full: bool = False) -> int:
    """Write the archive of a report; the same report gives the same bytes.

    Returns:
        How many images it has.

    Raises:
        InputError: there is no report, it is not one, or a file that it links to is missing or no image.
    """
    text = page.read_text(encoding="utf-8")
    if not _ABOUT.search(text):
        raise InputError(f"{page}: not a report of cfeval; `cfeval run` makes one")
    packed = _Packed(page.parent, full)
    text = _ABOUT.sub(lambda found: found[1] + _about(found[2], packed) + found[3], text)
    text = _relinked(_FILE, _relinked(_IMAGE, text, packed.image), packed.file)

    def write(path: Path) -> None:
        with ZipFile(path, "w") as archive:
            for name, content in chain([(PAGE, text.encode())], packed.items(), packed.contents()):
                archive.writestr(entry(name, compression=ZIP_DEFLATED), content)

    write_bytes_by(out, write)
    return len(packed.images)


class _Packed:
    """The files that a page links to, and what its links become."""

    def __init__(self, folder: Path, full: bool) -> None:
        self._folder, self._full = folder, full
        self.images: dict[str, str] = {}
        self._files: dict[str, Path] = {}
        self._items: dict[str, Path] = {}

    def image(self, link: str) -> str:
        """An image within the page, or with `full` the name of its copy."""
        if link not in self.images:
            self.images[link] = link if link.startswith("data:") else self._within(self._folder / unquote(link))
        return self.images[link]

    def file(self, link: str) -> str:
        """The name of a table's copy."""
        path = self._folder / unquote(link)
        self._files[f"tables/{path.name}"] = path
        return f"tables/{path.name}"

    def beside(self, link: str) -> str:
        """The name of a copy of items that the page loads on demand."""
        path = self._folder / unquote(link)
        self._items[f"{_ITEMS}/{path.name}"] = path
        return f"{_ITEMS}/{path.name}"

    def items(self) -> Iterator[tuple[str, bytes]]:
        """The copies of such items by their names, with other links to their images."""
        for name, path in self._items.items():
            text = _read(path).decode("utf-8")
            yield name, _ROWS.sub(lambda found: found[1] + self._rows(found[2]) + found[3], text).encode()

    def _rows(self, text: str) -> str:
        told = json.loads(text)
        links = {number: self.image(link) for number, link in told["images"].items()}
        return str(script_json({**told, "images": links}))

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """The copies by their names."""
        for name, path in self._files.items():
            content = _read(path)
            yield name, marked(content) if name.startswith("images/") and EDITED in path.parts else content

    def _within(self, path: Path) -> str:
        if self._full:
            name = f"images/{len(self.images):06d}{path.suffix}"
            self._files[name] = path
            return name
        try:
            return data_url(Image(_read(path)), THUMBNAIL)
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: not an image ({error}); make the step's images again") from None


def _relinked(pattern: re.Pattern[str], text: str, linked: Callable[[str], str]) -> str:
    return pattern.sub(lambda found: found[1] + html.escape(linked(html.unescape(found[2]))) + found[3], text)


def _about(text: str, packed: _Packed) -> str:
    """What the page's script knows, with other links to images and to items beside it."""
    told = json.loads(text)
    images = [packed.image(link) if link else "" for link in told["images"]]
    views = [
        {**view, "beside": [packed.beside(link) for link in view["beside"]]} if "beside" in view else view
        for view in told["views"]
    ]
    return str(script_json({**told, "views": views, "images": images}))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the report links to it, but it cannot be read ({error.strerror})") from None


def marked(content: bytes) -> bytes:
    """A PNG file that says that it is a composite; the same file and mark give the same bytes, pixels stay as they are.

    It is for images that leave a study, in the XMP of the file (IPTC NewsCodes, Digital Source Type). Images within a
    study have no mark: a target might read it, and its bytes are a part of what results rest on.

    Raises:
        ValueError: it is no PNG file.
    """
    if not content.startswith(_SIGNATURE):
        raise ValueError("only PNG files are marked")
    kind, data = b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + _XMP.encode()
    chunk = struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return content[:_AFTER_HEADER] + chunk + content[_AFTER_HEADER:]
