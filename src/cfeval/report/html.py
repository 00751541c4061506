"""Pages: one HTML file each, with its style, its script and its images inside and nothing from elsewhere."""

import base64
import hashlib
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import PIL.Image
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cfeval.core.images import Image, in_archive, load
from cfeval.core.record import uses
from cfeval.core.records import ImageRef

_TEMPLATES = Path(__file__).parent / "templates"
MAX_SIDE = 1024
"""In pixels; a larger image is shrunk to that."""
_SMALL, _QUALITY = 256, 90  # an image with sides of at most so many pixels stays exact; the quality of WebP, of 100
_SIDE = 512  # in pixels: a larger image that is part of a page itself is shrunk to that
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def rendered(template: str, styles: Sequence[str], scripts: Sequence[str], **content: object) -> str:
    """A page; what the template shows is escaped, and the same arguments give the same text.

    Args:
        template: its file in `templates/`, which also gets `style` and `script` and, for its content security policy,
            their hashes `style_hash` and `script_hash`.
        styles: the style sheets' files, in order.
        scripts: the scripts' files, in order.
        content: what the template shows.
    """
    uses(f"{_TEMPLATES}/")
    style, code = ("".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in of) for of in (styles, scripts))
    environment = Environment(
        loader=PackageLoader("cfeval.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(code),
        script_hash=_hash(code),
        **content,
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def script_json(content: Any) -> Markup:
    """JSON that may stand in a `<script>` element: pure ASCII, and without `<`, `>` and `&`."""
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return Markup("".join(_UNSAFE.get(char, char) for char in text))


def data_url(image: Image, side: int = MAX_SIDE) -> str:
    """An image as a data URL, its sides at most so many pixels: with nothing that its file says about who made it.

    PNG where it is small, else WebP, which people cannot tell from it.
    """
    kind, content = shrunk(image, side)
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def shrunk(image: Image, side: int) -> tuple[str, bytes]:
    """An image with sides of at most so many pixels, `png` or `webp`, as for `data_url`."""
    small = PIL.Image.fromarray(image.pixels)
    small.thumbnail((side, side), PIL.Image.Resampling.LANCZOS)
    kind = "png" if max(small.size) <= _SMALL else "webp"
    buffer = io.BytesIO()
    small.save(buffer, format=kind, quality=_QUALITY)
    return kind, buffer.getvalue()


class ImageNumber(int):
    """The number of an image on a page: rows show which of their numbers are images."""


@dataclass
class Images:
    """The images of a page: each has a number, and is linked to, or is in the page where it is in an archive."""

    page_folder: Path
    links: list[str] = field(default_factory=list)
    """A link each, by number."""
    _numbers: dict[str, int] = field(default_factory=dict)

    def number(self, folder: Path, ref: ImageRef) -> ImageNumber:
        """The number of an image; the same file has the same one, an image in an archive the same as its copies."""
        archived = in_archive(folder)
        key = ref.sha256 if archived else str(folder / ref.path)
        if key not in self._numbers:
            relative = "" if archived else Path(os.path.relpath(folder / ref.path, self.page_folder)).as_posix()
            self._numbers[key] = len(self.links)
            self.links.append(quote(relative) or data_url(load(folder, ref), _SIDE))
        return ImageNumber(self._numbers[key])
