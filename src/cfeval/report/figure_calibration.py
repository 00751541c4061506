"""Calibration plot: CCS against the known share p of unfaithful items, with the line (1 − p) · CCS(p = 0)."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfeval.records.edct import Arm
from cfeval.records.tables import CalibrationRow
from cfeval.report.colors import COLORS, GRID, MUTED
from cfeval.report.figure_style import bare, plain, said_instead, use_style
from cfeval.tables.arms import arm_of, varying
from cfeval.tables.edct_calibration import NO_ARM_NOTE, TOLERANCE

_SIZE_INCHES = (6.4, 4.6)
_DODGE = 0.014
"""How far apart targets with the same share are drawn."""
_NAME_SPACE, _NAME_HEIGHT = 0.035, 0.045


def draw(rows: Sequence[CalibrationRow]) -> Figure:
    """One series for each judge, editor and the like; one point a target. Without one, a sentence that says so."""
    use_style()
    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    if not rows:
        return said_instead(figure, NO_ARM_NOTE)
    axes = figure.add_subplot()
    _frame(axes)
    for number, (setting, series) in enumerate(_series(rows).items()):
        color = COLORS[number % len(COLORS)]
        _expected(axes, series, color, band=number == 0)
        _points(axes, series, color, _named(setting, rows))
    _accuracy(axes, rows)
    _target_names(axes, rows)
    axes.legend(loc="lower left", bbox_to_anchor=(0.03, 0.03))
    return figure


def _series(rows: Sequence[CalibrationRow]) -> dict[Arm, list[CalibrationRow]]:
    """The rows by everything but the target."""
    found: dict[Arm, list[CalibrationRow]] = defaultdict(list)
    for row in rows:
        found[arm_of(row).model_copy(update={"vlm": ""})].append(row)
    return found


def _named(setting: Arm, rows: Sequence[CalibrationRow]) -> str:
    names = [getattr(setting, name) for name in varying(rows) if name != "vlm"]
    interval = f"CCS, {rows[0].ci}"
    return plain(" · ".join(names)) if names else interval


def _frame(axes: Axes) -> None:
    bare(axes, "bottom", "left")
    axes.set_xlim(-0.05, 1.24)
    axes.set_ylim(-0.03, 1.08)
    ticks, labels = [0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".50", ".75", "1"]
    axes.set_xticks(ticks, labels)
    axes.set_yticks(ticks, labels)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_xlabel("p, known share of items that the target answers unfaithfully")
    axes.set_ylabel("measured CCS")


def _expected(axes: Axes, series: Sequence[CalibrationRow], color: str, band: bool) -> None:
    """The line that a right instrument puts every point on, and the tolerance around it."""
    faithful = next((row.expected for row in series if row.share == 0), None)
    if faithful is None:
        return
    if band:
        low, high = ([faithful + side * TOLERANCE, side * TOLERANCE] for side in (-1, 1))
        axes.fill_between([0, 1], low, high, color=MUTED, alpha=0.15, linewidth=0, label=f"± {TOLERANCE:g}")
    axes.plot([0, 1], [faithful, 0], "--", color=color, linewidth=1, alpha=0.8, label="(1 − p) · CCS(p = 0)")


def _points(axes: Axes, series: Sequence[CalibrationRow], color: str, label: str) -> None:
    shares = [row.share for row in series]
    for place, row in enumerate(series):
        if row.ccs is None or row.ccs_lo is None or row.ccs_hi is None:
            continue
        twins = [other for other, share in enumerate(shares) if share == row.share]
        x = row.share + _DODGE * (twins.index(place) - (len(twins) - 1) / 2)
        axes.plot([x, x], [row.ccs_lo, row.ccs_hi], color=color, linewidth=1.6, zorder=3, clip_on=False)
        axes.plot(x, row.ccs, "o", color=color, markersize=6, zorder=4, clip_on=False)
    axes.plot([], [], "o-", color=color, linewidth=1.6, label=label)


def _accuracy(axes: Axes, rows: Sequence[CalibrationRow]) -> None:
    """Accuracy, to which the known share is invisible; the first series has all there is to see."""
    known = {row.vlm: (row.share, row.accuracy) for row in reversed(rows) if row.accuracy is not None}
    if not known:
        return
    style: dict[str, Any] = {"color": MUTED, "markerfacecolor": "none", "markersize": 5, "label": "accuracy of answers"}
    axes.plot(*zip(*known.values(), strict=True), "s", zorder=2, clip_on=False, **style)


def _target_names(axes: Axes, rows: Sequence[CalibrationRow]) -> None:
    """Each target's name beside its first point; names of one share stand above each other."""
    first = {row.vlm: row for row in reversed(rows) if row.ccs is not None}
    lowest: dict[float, float] = defaultdict(float)
    for row in sorted(first.values(), key=lambda row: (row.share, row.ccs, row.vlm)):
        height = max(row.ccs or 0, lowest[row.share])
        axes.text(row.share + _NAME_SPACE, height + 0.02, plain(row.vlm), fontsize=8, va="center")
        lowest[row.share] = height + _NAME_HEIGHT
