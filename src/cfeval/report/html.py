"""Pages: one HTML file each, with its style, its script and its images inside and nothing from elsewhere."""

import base64
import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import PIL.Image
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cfeval.core.images import Image
from cfeval.core.record import uses

_TEMPLATES = Path(__file__).parent / "templates"
MAX_SIDE = 1024
"""In pixels; a larger image is shrunk to that."""
_SMALL, _QUALITY = 256, 90
"""An image with sides of at most so many pixels stays exact; the quality of WebP, of 100."""
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
    style, code = "".join(map(_text, styles)), "".join(map(_text, scripts))
    return (
        _environment()
        .get_template(template)
        .render(
            style=Markup(style),
            style_hash=_hash(style),
            script=Markup(code),
            script_hash=_hash(code),
            **content,
        )
    )


def script_json(content: Any) -> Markup:
    """JSON that may stand in a `<script>` element: pure ASCII, and without `<`, `>` and `&`."""
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return Markup("".join(_UNSAFE.get(char, char) for char in text))


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("cfeval.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _text(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a content security policy names what may run."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


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
