"""Test models: what every measure makes of each, beside what is known of it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfeval.edct.faithfulness.card import FIT_BOUND
from cfeval.edct.tables.scores import NAMES, NO_CONDITION_NOTE
from cfeval.edct.tables.test_models import MEASURES, TestModelRow
from cfeval.report.bars import COLORS, GRID, MUTED
from cfeval.report.figures import TEST_WORLD, empty_figure, plain, share_ticks, strip_spines, use_style
from cfeval.report.tables import limits, varying

_WIDTH, _ROW, _REST = 7.4, 0.26, 1.5
"""Inches: the figure's width, the height of a row, and that of all else."""
_MARKERS = {"ccs": ("o", COLORS[1]), "strict_ccs": ("s", COLORS[2]), "fit": ("D", COLORS[0])}
_DODGE = 0.22


def draw(rows: Sequence[TestModelRow]) -> Figure:
    """A line a model, from the most to the least faithful, and a panel a setting of the instrument; without a row, a
    sentence that says so.
    """
    use_style()
    if not rows:
        return empty_figure(Figure(figsize=(_WIDTH, 2), layout="constrained"), NO_CONDITION_NOTE)
    names = [name for name in varying(rows, NAMES, ()) if name != "vlm"]
    panels: dict[str, list[TestModelRow]] = defaultdict(list)
    for row in rows:
        panels[" · ".join(getattr(row, name) for name in names)].append(row)
    models = sorted(dict.fromkeys(row.vlm for row in rows), key={row.vlm: row.faithful for row in rows}.__getitem__)
    figure = Figure(figsize=(_WIDTH, _ROW * len(models) + _REST), layout="constrained")
    grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (setting, of) in zip(grid, panels.items(), strict=True):
        _frame(axes, [f"{plain(model)} †" for model in models])
        axes.set_title(plain(setting), fontsize=9)
        _panel(axes, {row.vlm: row for row in of}, models)
    handles = dict(zip(*reversed(grid[0].get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4)
    figure.supxlabel(
        "right of the dotted line a model would be trusted; intervals: 95 %\n"
        f"All models: {TEST_WORLD.removeprefix('† ')}",
        fontsize=9,
    )
    return figure


def _panel(axes: Axes, of: Mapping[str, TestModelRow], models: Sequence[str]) -> None:
    for place, model in enumerate(models):
        if model in of:
            row = of[model]
            axes.plot([row.faithful] * 2, [place - 0.4, place + 0.4], "k-", linewidth=1.6, label="truth", zorder=5)
            for side, (name, (marker, color)) in enumerate(_MARKERS.items(), start=-1):
                _point(axes, row, name, place - side * _DODGE, marker, color)


def _frame(axes: Axes, labels: Sequence[str]) -> None:
    strip_spines(axes, "bottom", "left")
    axes.set(xlim=(-0.04, 1.06), ylim=(-0.7, len(labels) - 0.3))
    share_ticks(axes, "x")
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.axvline(FIT_BOUND, color=MUTED, linestyle=":", linewidth=1.2)


def _point(axes: Axes, row: TestModelRow, name: str, place: float, marker: str, color: str) -> None:
    value, (low, high) = getattr(row, name), limits(row, name)
    if value is None:
        return
    if low is not None and high is not None:
        axes.plot([low, high], [place, place], color=color, linewidth=1.1, zorder=3)
    axes.plot(value, place, marker, color=color, markersize=4, zorder=4, label=MEASURES[name])
