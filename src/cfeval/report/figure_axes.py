"""The two axes of faithfulness: does what is cited matter (CCS), and is what matters cited (completeness)?"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfeval.records.tables import ControlRow
from cfeval.report.colors import COLORS, GRID, MUTED
from cfeval.report.figure_style import bare, plain, said_instead, use_style
from cfeval.tables.arm_sheet import NO_ARM_NOTE
from cfeval.tables.arms import short_labels

_SIZE_INCHES = (5.4, 4.8)
_AXES = ("ccs", "completeness")


def draw(rows: Sequence[ControlRow]) -> Figure:
    """One cross an arm, with the intervals of both figures; without a row, a sentence that says so."""
    use_style()
    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    placed = [row for row in rows if None not in (row.ccs, row.completeness)]
    if not placed:
        return said_instead(figure, "No arm has both CCS and completeness." if rows else NO_ARM_NOTE)
    axes = figure.add_subplot()
    _frame(axes)
    for row, label in zip(placed, short_labels(placed), strict=True):
        _cross(axes, row, label)
    return figure


def _frame(axes: Axes) -> None:
    bare(axes, "bottom", "left")
    ticks, labels = [0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".50", ".75", "1"]
    for set_limits, set_ticks in ((axes.set_xlim, axes.set_xticks), (axes.set_ylim, axes.set_yticks)):
        set_limits(-0.03, 1.12)
        set_ticks(ticks, labels)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_xlabel("CCS: does what is cited matter?")
    axes.set_ylabel("completeness: is what matters cited?")


def _cross(axes: Axes, row: ControlRow, label: str) -> None:
    x, y = (float(getattr(row, name)) for name in _AXES)
    (left, right), (low, high) = ((getattr(row, f"{name}_lo"), getattr(row, f"{name}_hi")) for name in _AXES)
    axes.plot([left, right], [y, y], color=COLORS[0], linewidth=1.6, clip_on=False)
    axes.plot([x, x], [low, high], color=COLORS[0], linewidth=1.6, clip_on=False)
    axes.plot(x, y, "o", color=COLORS[0], markersize=6, clip_on=False)
    if row.noise_floor is not None:
        axes.plot([row.noise_floor] * 2, [y - 0.015, y + 0.015], color=MUTED, linewidth=1.4, clip_on=False)
    axes.text(x + 0.02, y + 0.025, plain(label + (" †" if row.test_world else "")), fontsize=8)
