"""Files as they lie in people's folders of images, each with what is wrong with it; made by code."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import PIL.Image


def photograph(number: int = 0, form: str = "JPEG", size: tuple[int, int] = (160, 120)) -> bytes:
    """An image of noise as a file."""
    noise = np.random.default_rng(number).integers(0, 255, (*size[::-1], 3), dtype=np.uint8)
    stream = io.BytesIO()
    PIL.Image.fromarray(noise).save(stream, form)
    return stream.getvalue()


class Trouble(NamedTuple):
    """A file that cannot be used: its name, how it is made, and a part of what is said of it."""

    name: str
    make: Callable[[Path], object]
    said: str
    is_loss: bool = True


def holding(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


TROUBLES = [
    Trouble("cut.jpg", holding(photograph()[:4000]), "unreadable: cut.jpg (broken or truncated image)"),
    Trouble("CUT.PNG", holding(photograph(1, "PNG")[:-60]), "CUT.PNG (broken or truncated image)"),
    Trouble("cut.webp", holding(photograph(1, "WEBP")[:500]), "cut.webp ("),
    Trouble("cut.bmp", holding(photograph(1, "BMP")[:-900]), "cut.bmp (broken or truncated image)"),
    Trouble("cut.tif", holding(photograph(1, "TIFF")[:-900]), "cut.tif ("),
    Trouble("empty.png", holding(b""), "empty.png (the file is empty)"),
    Trouble("note.jpg", holding(b"not an image"), "note.jpg (not an image in a format Pillow reads)"),
    Trouble("new.jxl", holding(b"\xff\x0a"), "1 JXL left out: new.jxl (no decoder here"),
    Trouble("folder.jpg", lambda path: path.mkdir(), "folder.jpg (a folder)"),
    Trouble("gone.png", lambda path: path.symlink_to("nowhere.png"), "gone.png (a link to nothing)"),
    Trouble("pipe.png", os.mkfifo, "pipe.png (not a file)"),
    Trouble("._IMG.jpg", holding(b"\0\x05\x16\x07"), "1 hidden left out: ._IMG.jpg", is_loss=False),
    Trouble("notes.txt", holding(b"notes"), "1 other file left out: notes.txt", is_loss=False),
]
"""One of each kind."""
SILENT = ["Thumbs.db", "desktop.ini", ".DS_Store"]
"""What operating systems put into folders, of which nobody wants to hear."""


def make(folder: Path, good: int, troubles: list[Trouble]) -> Path:
    """A folder with some photographs and some troubles."""
    folder.mkdir(parents=True)
    for number in range(good):
        (folder / f"IMG_{number}.jpg").write_bytes(photograph(number))
    for trouble in troubles:
        trouble.make(folder / trouble.name)
    for name in SILENT:
        (folder / name).write_bytes(b"system")
    return folder
