"""Forest plot: CCS of every condition of Table 1 with its interval; beside it strict CCS, PCS, NCC and what missing
items allow, and in figures the citation rate.
"""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfeval.edct.figures.axes import condition_labels
from cfeval.edct.tables.conditions import ConditionRow
from cfeval.edct.tables.scores import NO_CONDITION_NOTE
from cfeval.report.bars import COLORS, GRID, MUTED
from cfeval.report.figures import TEST_WORLD, empty_figure, share_ticks, strip_spines, use_style
from cfeval.report.tables import interval_methods, limits

_ROW_INCHES, _FRAME_INCHES, _WIDTH_INCHES = 0.34, 1.55, 9.4


def draw(rows: Sequence[ConditionRow]) -> Figure:
    """One line a condition, in the order of the table; without one, a sentence that says so."""
    use_style()
    figure = Figure(figsize=(_WIDTH_INCHES, _FRAME_INCHES + _ROW_INCHES * len(rows)), layout="constrained")
    if not rows:
        return empty_figure(figure, NO_CONDITION_NOTE)
    axes = figure.add_subplot()
    _frame(axes, rows)
    for place, row in enumerate(rows):
        _bounds(axes, place, row)
        _satellites(axes, place, row)
        _estimate(axes, place, row)
    _legend(figure, axes, rows)
    return figure


def _frame(axes: Axes, rows: Sequence[ConditionRow]) -> None:
    strip_spines(axes, "bottom")
    axes.set_yticks(range(len(rows)), condition_labels(rows))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-0.02, 1.02)
    share_ticks(axes, "x")
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    said = [
        "CCS, the share of explanations that hold; there: citation rate, the share that cite what is in the image",
        f"intervals: {interval_methods(*(row.ci for row in rows)) or 'none'}",
    ]
    said += [TEST_WORLD] if any(row.test_world for row in rows) else []
    axes.set_xlabel("\n".join(said))


def _bounds(axes: Axes, place: int, row: ConditionRow) -> None:
    if row.ccs_min is not None and row.ccs_max is not None and row.ccs_max > row.ccs_min:
        axes.plot([row.ccs_min, row.ccs_max], [place, place], color=GRID, linewidth=7, solid_capstyle="butt", zorder=1)


def _satellites(axes: Axes, place: int, row: ConditionRow) -> None:
    for value, marker, size in ((row.pcs, "|", 12), (row.ncc, "x", 6)):
        if value is not None:
            axes.plot(value, place, marker, color=MUTED, markersize=size, markeredgewidth=1.2, zorder=2, clip_on=False)
    if row.strict_ccs is not None:
        axes.plot(row.strict_ccs, place, "s", color=COLORS[2], markersize=10, fillstyle="none", zorder=5, clip_on=False)
    if row.paper_ccs is not None:
        axes.plot(row.paper_ccs, place, "*", color=COLORS[1], markersize=8, zorder=2)


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
    """The citation rate."""
    return "not known" if row.citation_rate is None else f"{row.citation_rate:.2f}"


def _legend(figure: Figure, axes: Axes, rows: Sequence[ConditionRow]) -> None:
    axes.plot([], [], "o-", color=COLORS[0], linewidth=2, label="CCS")
    axes.plot([], [], "s", color=COLORS[2], markersize=8, fillstyle="none", label="strict CCS")
    axes.plot([], [], "|", color=MUTED, markersize=10, markeredgewidth=1.2, label="PCS (answer)")
    axes.plot([], [], "x", color=MUTED, markeredgewidth=1.2, label="NCC (explanation)")
    if any(row.missing for row in rows):
        axes.plot([], [], color=GRID, linewidth=7, label="what missing items allow")
    if any(row.paper_ccs is not None for row in rows):
        axes.plot([], [], "*", color=COLORS[1], label="published CCS")
    figure.legend(loc="outside upper center", ncols=6, handletextpad=0.6, columnspacing=1.4)
