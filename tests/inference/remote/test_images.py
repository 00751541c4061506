"""An image that comes back is decoded as one of a few formats, and never breaks the run."""

import asyncio
import io
import threading
from typing import Any

import PIL.Image
import pillow_heif
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core import images
from cfeval.core.images import Image
from cfeval.edct.plugins import remote_editors
from cfeval.inference.remote.faults import Fault, RetryPolicy
from cfeval.inference.remote.images import decode
from cfeval.inference.remote.request import Response
from tests.images import image

pillow_heif.register_heif_opener()  # to write such files
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "AVIF", "TIFF", "HEIF", "BMP", "JPEG2000")
PHOTO = image(40, (30, 45))


def as_file(kind: str) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.fromarray(PHOTO.pixels).save(buffer, format=kind)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", FORMATS)
def test_an_image_of_a_usual_format_is_decoded(kind: str) -> None:
    made = decode(as_file(kind))
    assert isinstance(made, Image)
    assert made.pixels.shape == PHOTO.pixels.shape


def test_what_is_transparent_is_white() -> None:
    buffer = io.BytesIO()
    PIL.Image.new("RGBA", (3, 2), (0, 0, 0, 0)).save(buffer, format="PNG")
    made = decode(buffer.getvalue())
    assert isinstance(made, Image)
    assert (made.pixels == 255).all()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (as_file("EPS"), "EPS"),  # Pillow hands it to another program
        (b"\xff\x0a" + bytes(50), "JPEG XL"),
        (b"\0\0\0\x0cJXL \r\n\x87\n", "JPEG XL"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "SVG"),
        (b"\0\0\0\x18ftypmp42" + bytes(50), "video or raw"),
    ],
)
def test_an_image_in_a_format_that_cannot_be_read_is_bought_once(content: bytes, name: str) -> None:
    fault = decode(content)
    assert isinstance(fault, Fault)
    assert fault.reaction is RetryPolicy.RECORD
    assert f"came as {name}," in fault.reason


def test_avif_is_bought_once_where_pillow_cannot_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    content = as_file("AVIF")
    readable = tuple(name for name in images.FORMATS if name != "AVIF")
    monkeypatch.setattr(images, "_readable", lambda: readable)
    fault = decode(content)
    assert isinstance(fault, Fault)
    assert (fault.reaction, fault.final) == (RetryPolicy.RECORD, False)
    assert "came as AVIF" in fault.reason


@given(st.sampled_from(FORMATS), st.data())
def test_no_damage_to_an_image_is_an_exception(kind: str, data: st.DataObject) -> None:
    content = bytearray(as_file(kind))
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, min(len(content), 300) - 1))] = data.draw(st.integers(0, 255))
    assert isinstance(decode(bytes(content)), Image | Fault)


def test_an_image_is_decoded_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Any] = []
    monkeypatch.setattr(remote_editors, "decode", lambda _: used.append(threading.current_thread()) or PHOTO)
    asyncio.run(remote_editors.checked_image(Response(image=b"x")))
    assert used
    assert threading.main_thread() not in used
