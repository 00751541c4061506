"""Conditions in two figures: the two axes of faithfulness, and the forest plot.

Axes: does what is cited matter (CCS), and is what matters cited (completeness)? Forest plot: CCS of every condition of
Table 1 with its interval; beside it strict CCS, PCS, NCC and what missing items allow, and in figures the citation
rate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfeval.edct.tables.conditions import ConditionRow
from cfeval.edct.tables.controls import ControlRow
from cfeval.edct.tables.scores import short_labels
from cfeval.report.colors import COLORS, GRID, MUTED
from cfeval.report.columns import limits
from cfeval.report.figures import TEST_WORLD, empty_figure, plain, share_ticks, strip_spines, use_style
from cfeval.report.tables import NO_CONDITION_NOTE, interval_methods

_SIZE_INCHES = (5.8, 5.4)
_LIMITS = (-0.04, 1.06)
# About the width of a letter and the height of a line of a label, and its distance from the point, on the axes.
_CHARACTER, _LINE, _GAP = 0.0165, 0.034, 0.022

# Of a line below the axes.
_NOTE_CHARACTERS = 72


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


def draw_axes(rows: Sequence[ControlRow]) -> Figure:
    """One cross a condition, with the intervals of both figures; without a row, a sentence that says so."""
    use_style()
    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    full = [row for row in rows if not row.completeness_empty]
    placed = [row for row in full if row.ccs is not None and row.completeness is not None]
    if not placed:
        return empty_figure(figure, "No condition has both CCS and completeness." if rows else NO_CONDITION_NOTE)
    axes = figure.add_subplot()
    empty = [plain(label) for label, row in zip(condition_labels(rows), rows, strict=True) if row.completeness_empty]
    test_world = any(row.test_world for row in placed)
    strip_spines(axes, "bottom", "left")
    axes.set(xlim=_LIMITS, ylim=_LIMITS, aspect="equal")
    share_ticks(axes, "x", "y")
    axes.grid(color=GRID, linewidth=0.8)
    caption = ["CCS: does what is cited matter?", *([TEST_WORLD] if test_world else [])]
    note = f"no completeness, as a blank image changes nothing: {', '.join(empty)}"
    caption += wrap(note, _NOTE_CHARACTERS) if empty else []
    axes.set_xlabel("\n".join(caption))
    axes.set_ylabel("completeness: is what matters cited?")
    taken = [_point(row) for row in placed]
    for row, label in zip(placed, condition_labels(placed), strict=True):
        x, y = _place(row)
        if row.noise_floor is not None:
            axes.plot(row.noise_floor, y, "|", color=MUTED, markersize=9, markeredgewidth=1.6, zorder=5, clip_on=False)
        for metric, along_x in (("ccs", True), ("completeness", False)):
            low, high = limits(row, metric)
            if low is not None and high is not None:
                line = ([low, high], [y, y]) if along_x else ([x, x], [low, high])
                axes.plot(*line, color=COLORS[0], linewidth=1.6, zorder=3, clip_on=False)
        axes.plot(x, y, "o", color=COLORS[0], markersize=6, zorder=4, clip_on=False)
        taken.append(_name(axes, row, label, taken))
    floor = any(row.noise_floor is not None for row in placed)
    axes.plot([], [], "o-", color=COLORS[0], linewidth=1.6, label="condition, with both intervals")
    if floor:
        what = "noise floor: moves though nothing was changed"
        axes.plot([], [], "|", color=MUTED, markersize=9, markeredgewidth=1.6, label=what)
    figure.legend(loc="outside upper center", ncols=2, handletextpad=0.6, columnspacing=1.4)
    return figure


def _place(row: ControlRow) -> tuple[float, float]:
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


def condition_labels(rows: Sequence[Any]) -> list[str]:
    """What tells each condition from the others, targets of the test world marked; rows have `test_world`."""
    return [
        plain(label.replace(row.vlm, f"{row.vlm} †", 1) if row.test_world else label)
        for row, label in zip(rows, short_labels(rows), strict=True)
    ]


_ROW_INCHES, _FRAME_INCHES, _WIDTH_INCHES = 0.34, 1.55, 9.4


def draw_forest(rows: Sequence[ConditionRow]) -> Figure:
    """One line a condition, in the order of the table; without one, a sentence that says so."""
    use_style()
    figure = Figure(figsize=(_WIDTH_INCHES, _FRAME_INCHES + _ROW_INCHES * len(rows)), layout="constrained")
    if not rows:
        return empty_figure(figure, NO_CONDITION_NOTE)
    axes = figure.add_subplot()
    _forest_frame(axes, rows)
    for place, row in enumerate(rows):
        if row.ccs_min is not None and row.ccs_max is not None and row.ccs_max > row.ccs_min:
            axes.plot(
                [row.ccs_min, row.ccs_max], [place, place], color=GRID, linewidth=7, solid_capstyle="butt", zorder=1
            )
        for value, marker, size in ((row.pcs, "|", 12), (row.ncc, "x", 6)):
            if value is not None:
                axes.plot(
                    value, place, marker, color=MUTED, markersize=size, markeredgewidth=1.2, zorder=2, clip_on=False
                )
        if row.strict_ccs is not None:
            axes.plot(
                row.strict_ccs, place, "s", color=COLORS[2], markersize=10, fillstyle="none", zorder=5, clip_on=False
            )
        if row.paper_ccs is not None:
            axes.plot(row.paper_ccs, place, "*", color=COLORS[1], markersize=8, zorder=2)
        _estimate(axes, place, row)
    _forest_legend(figure, axes, rows)
    return figure


def _forest_frame(axes: Axes, rows: Sequence[ConditionRow]) -> None:
    strip_spines(axes, "bottom")
    axes.set_yticks(range(len(rows)), condition_labels(rows))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-0.02, 1.02)
    share_ticks(axes, "x")
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    caption = [
        "CCS, the share of explanations that hold; there: citation rate, the share that cite what is in the image",
        f"intervals: {interval_methods(*(row.ci for row in rows)) or 'none'}",
    ]
    caption += [TEST_WORLD] if any(row.test_world for row in rows) else []
    axes.set_xlabel("\n".join(caption))


def _estimate(axes: Axes, place: int, row: ConditionRow) -> None:
    beside: dict[str, Any] = {"x": 1.03, "y": place, "va": "center", "fontsize": 8}
    beside["transform"] = axes.get_yaxis_transform()
    scored = f"{row.n_scored} of {row.n}   there: {_there(row)}"
    low, high = limits(row, "ccs")
    if row.ccs is None or low is None or high is None:
        axes.text(s=f"none scored   ({scored})", color=MUTED, **beside)
        return
    axes.plot([low, high], [place, place], color=COLORS[0], linewidth=2, zorder=3, clip_on=False)
    axes.plot(row.ccs, place, "o", color=COLORS[0], markersize=7, zorder=4, clip_on=False)
    axes.text(s=f"{row.ccs:.2f}  [{low:.2f}, {high:.2f}]   {scored}", **beside)


def _there(row: ConditionRow) -> str:
    return "not known" if row.citation_rate is None else f"{row.citation_rate:.2f}"


def _forest_legend(figure: Figure, axes: Axes, rows: Sequence[ConditionRow]) -> None:
    axes.plot([], [], "o-", color=COLORS[0], linewidth=2, label="CCS")
    axes.plot([], [], "s", color=COLORS[2], markersize=8, fillstyle="none", label="strict CCS")
    axes.plot([], [], "|", color=MUTED, markersize=10, markeredgewidth=1.2, label="PCS (answer)")
    axes.plot([], [], "x", color=MUTED, markeredgewidth=1.2, label="NCC (explanation)")
    if any(row.missing for row in rows):
        axes.plot([], [], color=GRID, linewidth=7, label="what missing items allow")
    if any(row.paper_ccs is not None for row in rows):
        axes.plot([], [], "*", color=COLORS[1], label="published CCS")
    figure.legend(loc="outside upper center", ncols=6, handletextpad=0.6, columnspacing=1.4)
