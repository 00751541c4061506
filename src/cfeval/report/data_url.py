"""Pictures that stand inside a page."""

import base64
import io

from PIL import Image

from cfeval.io.pictures import Picture

MAX_SIDE = 1024
"""In pixels; a larger picture is shrunk to that."""
_SMALL, _QUALITY = 256, 90
"""A picture with sides of at most so many pixels stays exact; the quality of WebP, of 100."""


def data_url(picture: Picture, side: int = MAX_SIDE) -> str:
    """A picture as a data URL, its sides at most so many pixels: with nothing that its file says about who made it.

    PNG where it is small, else WebP, which people cannot tell from it.
    """
    image = Image.fromarray(picture.pixels)
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    kind = "png" if max(image.size) <= _SMALL else "webp"
    buffer = io.BytesIO()
    image.save(buffer, format=kind, quality=_QUALITY)
    content = buffer.getvalue()
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
