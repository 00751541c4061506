"""Contact sheets: the counterfactuals of one group on one PNG, each under its original, with what changed.

A column an image, a band of columns under another; in each column the original, then each counterfactual and its
signed difference to the original. Small images are scaled up by whole numbers without smoothing, so that a pixel stays
one. The same arguments give the same bytes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import PIL.Image
from PIL import ImageDraw, ImageFont

from cfeval.core.images import Image
from cfeval.report.bars import COLORS, GRID, INK, MUTED, PAPER

Pixels = npt.NDArray[np.uint8]
Mood = Literal["right", "wrong", "none"]
GAIN = 2
"""By how much differences are amplified: grey is no change, and a change of 64 of 255 is already white or black."""
_SIDES, _WIDTH = (160, 320), 640
"""Pixels: an image is scaled up to the first of them and down to the second; the least width of a sheet."""
_GAP, _EDGE, _LABEL = 14, 28, 128
"""Pixels: between columns, around the sheet, the column of row labels."""
_LINE, _BAR = 17, 4
_COLORS = {"right": COLORS[2], "wrong": COLORS[1], "none": MUTED}


@dataclass(frozen=True)
class Shot:
    """One counterfactual: pixels (H, W, 3) as the original's, or None with the reason as its lines."""

    pixels: Pixels | None
    lines: tuple[str, ...]
    mood: Mood = "none"


@dataclass(frozen=True)
class Strip:
    """One image with its counterfactuals, in the order of the sheet's labels."""

    original: Pixels
    lines: tuple[str, ...]
    shots: tuple[Shot, ...]


@dataclass(frozen=True)
class ContactSheet:
    """All that stands on a sheet; `labels` name the rows of counterfactuals."""

    title: str
    subtitle: str
    labels: tuple[str, ...]
    strips: tuple[Strip, ...]
    note: str = ""


@dataclass(frozen=True)
class _Plan:
    """Sizes in pixels, of an image and of rows; how many images stand side by side, how many lines below them."""

    image: tuple[int, int]
    across: int
    lines_of_original: int
    lines: int

    @property
    def original(self) -> int:
        return self.image[1] + _BAR + self.lines_of_original * _LINE + _GAP

    @property
    def row(self) -> int:
        return self.image[1] + _BAR + self.lines * _LINE + 10

    @property
    def difference(self) -> int:
        return self.image[1] + _GAP

    def band(self, shots: int) -> int:
        return self.original + shots * (self.row + self.difference) + 2 * _GAP


def contact_sheet(contents: ContactSheet, across: int = 6) -> Image:
    """Draw a sheet.

    Args:
        across: images side by side, at least one.

    Raises:
        ValueError: there is no image to show.
    """
    if not contents.strips:
        raise ValueError("`strips` must hold at least one image, but it is empty")
    plan = _plan(contents, across)
    bands = ceil(len(contents.strips) / plan.across)
    width = max(_WIDTH, 2 * _EDGE + _LABEL + plan.across * (plan.image[0] + _GAP))
    height = 2 * _EDGE + 62 + bands * plan.band(len(contents.labels)) + (_LINE + 6 if contents.note else 0)
    sheet = PIL.Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((_EDGE, _EDGE - 6), _fit(contents.title, width - 2 * _EDGE, 22, True), INK, _font(22, True))
    draw.text((_EDGE, _EDGE + 26), _fit(contents.subtitle, width - 2 * _EDGE, 14), MUTED, _font(14))
    top = _EDGE + 62
    for strips in _in_bands(contents.strips, plan.across):
        if top > _EDGE + 62:
            draw.line((_EDGE, top - _GAP - 6, width - _EDGE, top - _GAP - 6), GRID)
        _band(sheet, contents.labels, strips, plan, top)
        top += plan.band(len(contents.labels))
    if contents.note:
        draw.text((_EDGE, top), _fit(contents.note, width - 2 * _EDGE, 13), MUTED, _font(13))
    return Image.from_pixels(np.asarray(sheet))


def difference(original: Pixels, other: Pixels, gain: int = GAIN) -> Pixels:
    """The signed difference around grey: 128 + gain · (other − original), clipped; shapes (H, W, 3), uint8."""
    change = other.astype(np.int32) - original.astype(np.int32)
    return np.clip(128 + gain * change, 0, 255).astype(np.uint8)


def _plan(contents: ContactSheet, across: int) -> _Plan:
    height, width = (max(strip.original.shape[side] for strip in contents.strips) for side in (0, 1))
    largest = max(height, width)
    factor = ceil(_SIDES[0] / largest) if largest < _SIDES[0] else min(1.0, _SIDES[1] / largest)
    below = max((len(shot.lines) for strip in contents.strips for shot in strip.shots), default=0)
    originals = max(len(strip.lines) for strip in contents.strips)
    return _Plan(
        (round(width * factor), round(height * factor)), max(1, min(across, len(contents.strips))), originals, below
    )


def _in_bands(strips: Sequence[Strip], across: int) -> Iterator[Sequence[Strip]]:
    for start in range(0, len(strips), across):
        yield strips[start : start + across]


def _band(sheet: PIL.Image.Image, labels: Sequence[str], strips: Sequence[Strip], plan: _Plan, top: int) -> None:
    """A band of columns, with the names of its rows at the left."""
    draw = ImageDraw.Draw(sheet)
    places = [("original", top)]
    for number, label in enumerate(labels):
        place = top + plan.original + number * (plan.row + plan.difference)
        places += [(label, place), (f"change × {GAIN}", place + plan.row)]
    for label, place in places:
        width = _LABEL - _GAP
        lines = [""]
        for word in label.split():
            longer = f"{lines[-1]} {word}".strip()
            if lines[-1] and _font(13).getlength(longer) > width:
                lines.append(word)
            else:
                lines[-1] = longer
        for number, line in enumerate([_fit(line, width, 13) for line in lines]):
            draw.text(
                (_EDGE, place + 2 + number * _LINE), line, MUTED if label.startswith("change") else INK, _font(13)
            )
    for column, strip in enumerate(strips):
        _column(sheet, strip, plan, (_EDGE + _LABEL + column * (plan.image[0] + _GAP), top))


def _column(sheet: PIL.Image.Image, strip: Strip, plan: _Plan, corner: tuple[int, int]) -> None:
    left, top = corner
    _framed(sheet, strip.original, strip.lines, "none", plan, (left, top))
    for shot in strip.shots:
        top += plan.original if shot is strip.shots[0] else plan.row + plan.difference
        _framed(sheet, shot.pixels, shot.lines, shot.mood, plan, (left, top))
        if shot.pixels is not None:
            change = PIL.Image.fromarray(difference(strip.original, shot.pixels))
            sheet.paste(_scaled(change, plan.image), (left, top + plan.row))


def _framed(
    sheet: PIL.Image.Image,
    pixels: Pixels | None,
    lines: Sequence[str],
    mood: Mood,
    plan: _Plan,
    corner: tuple[int, int],
) -> None:
    """An image with a bar in the color of its mood and lines below; without one a grey field that says why."""
    (left, top), (width, height), draw = corner, plan.image, ImageDraw.Draw(sheet)
    if pixels is None:
        draw.rectangle((left, top, left + width - 1, top + height - 1), "#eef1f5", GRID)
        text = _fit(lines[0] if lines else "", width - 8, 13)
        draw.text((left + width / 2, top + height / 2), text, MUTED, _font(13), anchor="mm")
        return
    sheet.paste(_scaled(PIL.Image.fromarray(pixels), plan.image), corner)
    bar = top + height
    draw.rectangle((left, bar, left + width - 1, bar + _BAR - 1), _COLORS[mood] if mood != "none" else GRID)
    for number, line in enumerate(lines):
        ink = INK if mood == "none" or number else _COLORS[mood]
        place = (left, bar + _BAR + 3 + number * _LINE)
        draw.text(place, _fit(line, width, 12, not number), ink if not number else MUTED, _font(12, not number))


def _scaled(image: PIL.Image.Image, box: tuple[int, int]) -> PIL.Image.Image:
    """An image that fills a box in one direction: its pixels kept as squares, or made fewer by averaging."""
    factor = min(box[0] / image.width, box[1] / image.height)
    size = (round(image.width * factor), round(image.height * factor))
    return image.resize(size, PIL.Image.Resampling.NEAREST if factor >= 1 else PIL.Image.Resampling.LANCZOS)


def _fit(text: str, width: float, size: int, bold: bool = False) -> str:
    """A text cut to a width, with … where something is gone."""
    font = _font(size, bold)
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(text + "…") > width:
        text = text[:-1]
    return text.rstrip() + "…"


@cache
def _font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """The font of the figures, which comes with matplotlib."""
    import matplotlib  # slow to load, and only sheets need it

    file = Path(matplotlib.get_data_path(), "fonts", "ttf", f"DejaVuSans{'-Bold' if bold else ''}.ttf")
    return ImageFont.truetype(file, size, layout_engine=ImageFont.Layout.BASIC)
