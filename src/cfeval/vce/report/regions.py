"""Where counterfactuals differ from their originals: what a classifier seems to use, by regions of the image.

Every counterfactual in which the classifier sees the target class counts equally: its change, the mean of |difference|
over channels, is divided by its sum. A region stands out where its share of the change exceeds that of noise alone
(unguided images), or its share of the area where there are none: by more than the tests' margin, and by the whole
interval of a bootstrap over source images at a level that allows for looking at nine regions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from cfeval.report.digits import percent
from cfeval.stats.intervals import bootstrap
from cfeval.vce.config import Tests
from cfeval.vce.endings import FLIPPED
from cfeval.vce.occlusion import REGIONS
from cfeval.vce.report.made import Made

Floats = npt.NDArray[np.float64]
FEW = 5
"""Counterfactuals: of fewer nothing is said."""
MOST = 100
"""Counterfactuals of a classifier that are looked at, evenly spaced; the page says so where there are more."""
_CELLS, _PIXELS = 8, 9
"""Cells a side of the drawing; the width of one."""


@dataclass(frozen=True)
class Regions:
    """Where the counterfactuals of one classifier change.

    Attributes:
        n: counterfactuals that it rests on.
        sentence: the region that stands out.
        drawing: the share of the change in each cell, stronger where it is more.
    """

    n: int
    sentence: str
    drawing: Markup


def regions(made: Sequence[Made], noise: Sequence[Made], tests: Tests, label: str) -> Regions | None:
    """Where the counterfactuals of a classifier change that it sees as the target class; None of fewer than `FEW`.

    Args:
        made: the classifier's.
        noise: unguided images of the same setting; may be empty.
        tests: level, resamples and seed of the bootstrap.
        label: the accessible name of the drawing.
    """
    flipped = _thinned([counterfactual for counterfactual in made if counterfactual.ending in FLIPPED])
    maps = [
        (counterfactual.source.id, change)
        for counterfactual in flipped
        if (change := _change(counterfactual)) is not None
    ]
    if len(maps) < FEW:
        return None
    floor = [change for counterfactual in _thinned(noise) if (change := _change(counterfactual)) is not None]
    shares = np.stack([_cut(change, 3).ravel() for _, change in maps])
    if floor:
        expected = np.mean([_cut(change, 3).ravel() for change in floor], axis=0)
    else:
        expected = _cut(np.full_like(maps[0][1], 1 / maps[0][1].size), 3).ravel()
    place = int(np.argmax(shares.mean(axis=0) - expected))
    level = 1 - (1 - tests.level) / len(REGIONS)
    share = bootstrap(
        list(map(float, shares[:, place])), level, tests.resamples, tests.seed, [source for source, _ in maps]
    )
    stands_out = share.value is not None and share.value - expected[place] > tests.margin
    if stands_out and share.low is not None and share.low > expected[place]:
        where = "in the middle" if REGIONS[place] == "middle" else f"at the {REGIONS[place]}"
        against = "by noise alone" if floor else "of the area"
        other = f"{percent(float(expected[place]))} {against}"
        sentence = f"{_first_up(where)}: {percent(share.value or 0)} of the change, {other}."
    else:
        sentence = f"No region has much more of the change than {'noise alone' if floor else 'its area'}."
    whole = np.mean([_cut(change, _CELLS) for _, change in maps], axis=0)
    return Regions(len(maps), sentence, _drawing(whole, f"{label}. {sentence}"))


def _first_up(text: str) -> str:
    return text[:1].upper() + text[1:]


def _thinned(made: Sequence[Made]) -> Sequence[Made]:
    step = max(1, -(-len(made) // MOST))
    return made[::step]


def _change(one: Made) -> Floats | None:
    """The share of each pixel in what changed, (H, W); None where nothing did."""
    before, after = one.pixels()
    change: Floats = np.abs(after.astype(np.float64) - before.astype(np.float64)).mean(axis=2)
    total = float(change.sum())
    return change / total if total else None


def _cut(change: Floats, parts: int) -> Floats:
    """The sums over parts × parts cells; of small images fewer cells."""
    rows, columns = (np.arange(min(parts, side)) * side // min(parts, side) for side in change.shape)
    summed: Floats = np.add.reduceat(np.add.reduceat(change, rows, axis=0), columns, axis=1)
    return summed


def _drawing(whole: Floats, label: str) -> Markup:
    down, across = whole.shape
    size = Markup('viewBox="0 0 {0} {1}" width="{0}" height="{1}"').format(across * _PIXELS, down * _PIXELS)
    cells = Markup("").join(
        Markup('<rect x="{}" y="{}" width="{}" height="{}" fill-opacity="{}"/>').format(
            column * _PIXELS, row * _PIXELS, _PIXELS, _PIXELS, f"{whole[row, column] / whole.max():.2f}"
        )
        for row in range(down)
        for column in range(across)
    )
    return Markup('<svg class="where" {} role="img" aria-label="{}">{}</svg>').format(size, label, cells)
