"""Images come in as RGB PNGs; what cannot be used is refused in one line."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from cfeval.core.errors import InputError
from cfeval.core.images import Image, import_image, load
from cfeval.core.records import ImageRef
from tests.images import image


def saved(path: Path, image: PIL.Image.Image, **options: object) -> Path:
    image.save(path, **options)
    return path


def png_of_size(width: int, height: int) -> bytes:
    """A PNG that declares a size and holds next to nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\0" * 100)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def test_the_orientation_of_the_camera_is_applied(tmp_path: Path) -> None:
    exif = PIL.Image.Exif()
    exif[0x0112] = 6  # the camera was turned: rotate by 90° clockwise to view
    image = PIL.Image.new("RGB", (40, 20), "red")
    assert import_image(saved(tmp_path / "x.jpg", image, exif=exif)).pixels.shape == (40, 20, 3)


def test_transparency_is_laid_on_white(tmp_path: Path) -> None:
    clear = PIL.Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    assert (import_image(saved(tmp_path / "x.png", clear)).pixels == 255).all()


@pytest.mark.parametrize("mode", ["L", "P", "CMYK", "1", "I;16"])
def test_every_mode_becomes_rgb(tmp_path: Path, mode: str) -> None:
    suffix = "tif" if mode == "CMYK" else "png"
    found = import_image(saved(tmp_path / f"x.{suffix}", PIL.Image.new(mode, (5, 3))))
    assert found.pixels.shape == (3, 5, 3)


def animation() -> bytes:
    frames = [PIL.Image.new("L", (4, 4), value) for value in (0, 255)]
    buffer = io.BytesIO()
    frames[0].save(buffer, format="GIF", save_all=True, append_images=frames[1:])
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "the file is empty"),
        (b"hello", "not an image"),
        (image(size=(64, 64)).png[:-40], "broken or truncated"),
        (png_of_size(30000, 30000), "at most 50,000,000|over 50,000,000"),
        (png_of_size(8000, 8000), "8000 × 8000 pixels; at most 50,000,000"),
        (animation(), "an animation of 2 frames"),
        (b"%PDF-1.4", "not an image"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(content)
    with pytest.raises(InputError, match=complaint) as error:
        import_image(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_the_same_pixels_give_the_same_file() -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (9, 7, 3), dtype=np.uint8)
    assert Image.from_pixels(pixels).png == Image.from_pixels(pixels.copy()).png
    assert (Image.from_pixels(pixels).pixels == pixels).all()


def test_an_image_that_is_not_the_recorded_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(image(1).png)
    with pytest.raises(InputError, match="SHA-256 differs"):
        load(tmp_path, image(2).ref("a.png"))
    with pytest.raises(InputError, match="cannot read the image"):
        load(tmp_path, ImageRef(path="none.png", sha256="0" * 64))
    assert load(tmp_path, image(1).ref("a.png")) == image(1)
