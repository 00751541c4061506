"""The two axes of faithfulness: does what is cited matter (CCS), and is what matters cited (completeness)?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfeval.edct.tables.controls import ControlRow
from cfeval.edct.tables.scores import NO_CONDITION_NOTE, short_labels
from cfeval.report.bars import COLORS, GRID, MUTED
from cfeval.report.figures import TEST_WORLD, empty_figure, plain, share_ticks, strip_spines, use_style
from cfeval.report.tables import limits

_SIZE_INCHES = (5.8, 5.4)
_LIMITS = (-0.04, 1.06)
_CHARACTER, _LINE, _GAP = 0.0165, 0.034, 0.022
"""About the width of a letter and the height of a line of a label, and its distance from the point, on the axes."""

_NOTE_CHARACTERS = 72
"""Of a line below the axes."""


@dataclass(frozen=True)
class _Box:
    """A part of the plot that something covers."""

    left: float
    right: float
    low: float
    high: float

    def meets(self, other: "_Box") -> bool:
        apart = self.right < other.left or other.right < self.left or self.high < other.low or other.high < self.low
        return not apart

    def inside(self) -> bool:
        return min(self.left, self.low) > _LIMITS[0] and max(self.right, self.high) < _LIMITS[1] + 0.02


def draw(rows: Sequence[ControlRow]) -> Figure:
    """One cross a condition, with the intervals of both figures; without a row, a sentence that says so."""
    use_style()
    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    full = [row for row in rows if not row.completeness_empty]
    placed = [row for row in full if row.ccs is not None and row.completeness is not None]
    if not placed:
        return empty_figure(figure, "No condition has both CCS and completeness." if rows else NO_CONDITION_NOTE)
    axes = figure.add_subplot()
    empty = [plain(label) for label, row in zip(condition_labels(rows), rows, strict=True) if row.completeness_empty]
    _frame(axes, any(row.test_world for row in placed), empty)
    taken = [_point(row) for row in placed]
    for row, label in zip(placed, condition_labels(placed), strict=True):
        _cross(axes, row)
        taken.append(_name(axes, row, label, taken))
    _legend(figure, axes, any(row.noise_floor is not None for row in placed))
    return figure


def _frame(axes: Axes, test_world: bool, empty: Sequence[str]) -> None:
    strip_spines(axes, "bottom", "left")
    axes.set(xlim=_LIMITS, ylim=_LIMITS, aspect="equal")
    share_ticks(axes, "x", "y")
    axes.grid(color=GRID, linewidth=0.8)
    said = ["CCS: does what is cited matter?", *([TEST_WORLD] if test_world else [])]
    told = f"no completeness, as a blank image changes nothing: {', '.join(empty)}"
    said += wrap(told, _NOTE_CHARACTERS) if empty else []
    axes.set_xlabel("\n".join(said))
    axes.set_ylabel("completeness: is what matters cited?")


def _cross(axes: Axes, row: ControlRow) -> None:
    x, y = _place(row)
    if row.noise_floor is not None:
        axes.plot(row.noise_floor, y, "|", color=MUTED, markersize=9, markeredgewidth=1.6, zorder=5, clip_on=False)
    for metric, along_x in (("ccs", True), ("completeness", False)):
        low, high = limits(row, metric)
        if low is not None and high is not None:
            line = ([low, high], [y, y]) if along_x else ([x, x], [low, high])
            axes.plot(*line, color=COLORS[0], linewidth=1.6, zorder=3, clip_on=False)
    axes.plot(x, y, "o", color=COLORS[0], markersize=6, zorder=4, clip_on=False)


def _place(row: ControlRow) -> tuple[float, float]:
    """Where a condition stands; only for rows that have both figures."""
    return float(row.ccs or 0), float(row.completeness or 0)


def _point(row: ControlRow) -> _Box:
    x, y = _place(row)
    return _Box(x - 0.012, x + 0.012, y - 0.012, y + 0.012)


def _name(axes: Axes, row: ControlRow, label: str, taken: Sequence[_Box]) -> _Box:
    """Write a name where it covers no point and no other name, as near to its point as can be."""
    x, y = _place(row)
    spots = list(_spots(x, y, _CHARACTER * len(label)))
    box = next((spot for spot in spots if spot.inside() and not any(map(spot.meets, taken))), spots[0])
    side = "left" if box.left > x else "right"
    axes.text(box.left if side == "left" else box.right, box.low, label, fontsize=8, ha=side, va="bottom", zorder=6)
    return box


def _spots(x: float, y: float, width: float) -> Iterator[_Box]:
    for away in range(16):
        for low in (y + _GAP / 2 + away * _LINE, y - _GAP / 2 - (away + 1) * _LINE):
            yield _Box(x + _GAP, x + _GAP + width, low, low + _LINE)
            yield _Box(x - _GAP - width, x - _GAP, low, low + _LINE)


def _legend(figure: Figure, axes: Axes, floor: bool) -> None:
    axes.plot([], [], "o-", color=COLORS[0], linewidth=1.6, label="condition, with both intervals")
    if floor:
        what = "noise floor: moves though nothing was changed"
        axes.plot([], [], "|", color=MUTED, markersize=9, markeredgewidth=1.6, label=what)
    figure.legend(loc="outside upper center", ncols=2, handletextpad=0.6, columnspacing=1.4)


def condition_labels(rows: Sequence[Any]) -> list[str]:
    """What tells each condition from the others, targets of the test world marked; rows have `test_world`."""
    return [
        plain(label.replace(row.vlm, f"{row.vlm} †", 1) if row.test_world else label)
        for row, label in zip(rows, short_labels(rows), strict=True)
    ]
