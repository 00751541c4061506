"""What was measured beside what is known: a calibration plot, and the test models by every measure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfeval.edct.faithfulness.card import FIT_BOUND
from cfeval.edct.tables.calibration import NO_CONDITION_NOTE as NO_CALIBRATION_NOTE
from cfeval.edct.tables.calibration import SETTING, TOLERANCE, CalibrationRow, title_of
from cfeval.edct.tables.scores import NAMES
from cfeval.edct.tables.test_models import MEASURES, TestModelRow
from cfeval.report.colors import COLORS, GRID, MUTED
from cfeval.report.columns import limits
from cfeval.report.figures import TEST_WORLD, empty_figure, plain, share_ticks, strip_spines, use_style
from cfeval.report.tables import NO_CONDITION_NOTE, varying

_COLUMNS, _PANEL_INCHES, _LEGEND_INCHES = 4, 2.5, 0.7
_SERIES = {
    "strict_ccs": ("^", COLORS[3], -2, "strict CCS, edct-2025"),
    "ccs": ("o", COLORS[0], -1, "CCS, edct-2025"),
    "corrected": ("D", COLORS[2], 0, "the same, corrected for the judge's error"),
    "bench_ccs": ("s", COLORS[1], 1, "CCS, edct-bench-2026"),
}
# Below it a citation rate is named: CCS leaves out what cites something absent.
WORTH_TELLING = 0.95
# Of a line of the caption, for each column of panels.
_CHARACTERS = 36
# How far apart the figures of one target are drawn, and the targets of one share.
_DODGE = 0.022


def draw_calibration(rows: Sequence[CalibrationRow]) -> Figure:
    """One panel a setting, one group of points a target. Without a row, a sentence that says so."""
    use_style()
    if not rows:
        return empty_figure(Figure(figsize=(6.4, 2), layout="constrained"), NO_CALIBRATION_NOTE)
    by_setting: dict[tuple[str, ...], list[CalibrationRow]] = defaultdict(list)
    for row in rows:
        by_setting[tuple(getattr(row, name) for name in SETTING)].append(row)
    panels = list(by_setting.values())
    columns = min(_COLUMNS, len(panels))
    lines = -(-len(panels) // columns)
    size = (_PANEL_INCHES * max(columns, 2), _PANEL_INCHES * lines + _LEGEND_INCHES)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for number, axes in enumerate(grid.flat):
        if number < len(panels):
            _panel(axes, panels[number], rows)
        else:
            axes.set_visible(False)
            grid.flat[number - columns].tick_params(labelbottom=True)
    lines_of = [line for text in _caption(rows).splitlines() for line in wrap(text, _CHARACTERS * max(columns, 2))]
    figure.supxlabel("\n".join(lines_of), fontsize=9)
    figure.supylabel("measured", fontsize=9)
    handles = {label: line for axes in grid.flat for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4 if columns > 2 else 2)
    return figure


def _caption(rows: Sequence[CalibrationRow]) -> str:
    """What the axis is, and the targets behind the short names."""
    names = ", ".join(f"{plain(short)}: {plain(vlm)}" for vlm, short in _short_names(rows).items())
    what = f"p, known share of items that the target answers unfaithfully; intervals: {rows[0].ci}"
    rates = {row.vlm: row.citation_rate for row in rows if row.citation_rate is not None}
    absent = [f"{plain(vlm)} {rate:.2f}" for vlm, rate in rates.items() if rate < WORTH_TELLING]
    what += "\nCitation rate: " + ", ".join([*absent, f"others {WORTH_TELLING:g} or more"]) if rates else ""
    return "\n".join([what, *([names] if names else []), f"All targets: {TEST_WORLD.removeprefix('† ')}"])


def _panel(axes: Axes, panel: Sequence[CalibrationRow], rows: Sequence[CalibrationRow]) -> None:
    strip_spines(axes, "bottom", "left")
    axes.set_xlim(-0.12, 1.2)
    axes.set_ylim(-0.05, 1.08)
    share_ticks(axes, "x", "y")
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_title(plain(title_of(panel[0], rows)), fontsize=9)
    axes.fill_between([0, 1], [1 - TOLERANCE, -TOLERANCE], [1 + TOLERANCE, TOLERANCE], color=MUTED, alpha=0.15, lw=0)
    axes.plot([0, 1], [1, 0], "--", color=MUTED, linewidth=1, label=f"1 − p, ± {TOLERANCE:g}")
    for metric, (marker, color, side, label) in _SERIES.items():
        _points(axes, panel, metric, (marker, color, side, label))
    short = _short_names(rows)
    for place, row in enumerate(panel):
        if row.vlm in short:
            axes.text(_place(panel, place), 1.04, plain(short[row.vlm]), fontsize=7, ha="center", color=MUTED)


def _points(axes: Axes, rows: Sequence[CalibrationRow], metric: str, look: tuple[str, str, int, str]) -> None:
    marker, color, side, label = look
    for place, row in enumerate(rows):
        value, low, high = (getattr(row, f"{metric}{end}") for end in ("", "_lo", "_hi"))
        if value is None:
            continue
        x = _place(rows, place) + side * _DODGE
        if low is not None and high is not None:
            axes.plot([x, x], [low, high], color=color, linewidth=1.2, zorder=3, clip_on=False)
        axes.plot(x, value, marker, color=color, markersize=4, zorder=4, clip_on=False, label=label)


def _place(rows: Sequence[CalibrationRow], place: int) -> float:
    """Where a target stands: at its share, those of one share beside each other."""
    twins = [other for other, row in enumerate(rows) if row.share == rows[place].share]
    return rows[place].share + 4 * _DODGE * (twins.index(place) - (len(twins) - 1) / 2)


def _short_names(rows: Sequence[CalibrationRow]) -> dict[str, str]:
    """The targets that share a p with another, each by as many first letters as it takes, at least two."""
    shares = {row.vlm: row.share for row in rows}
    crowded = [vlm for vlm, share in shares.items() if list(shares.values()).count(share) > 1]
    size = next(n for n in range(2, 99) if len({vlm[:n] for vlm in crowded}) == len(crowded))
    return {vlm: vlm[:size] for vlm in crowded}


# Inches: the figure's width, the height of a row, and that of all else.
_WIDTH, _ROW, _REST = 7.4, 0.26, 1.5
_MARKERS = {"ccs": ("o", COLORS[1]), "strict_ccs": ("s", COLORS[2]), "fit": ("D", COLORS[0])}
_MODEL_DODGE = 0.22


def draw_test_models(rows: Sequence[TestModelRow]) -> Figure:
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
    for axes, (setting, panel) in zip(grid, panels.items(), strict=True):
        labels = [f"{plain(model)} †" for model in models]
        strip_spines(axes, "bottom", "left")
        axes.set(xlim=(-0.04, 1.06), ylim=(-0.7, len(labels) - 0.3))
        share_ticks(axes, "x")
        axes.set_yticks(range(len(labels)), labels, fontsize=8)
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        axes.axvline(FIT_BOUND, color=MUTED, linestyle=":", linewidth=1.2)
        axes.set_title(plain(setting), fontsize=9)
        _model_panel(axes, {row.vlm: row for row in panel}, models)
    handles = dict(zip(*reversed(grid[0].get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4)
    figure.supxlabel(
        "right of the dotted line a model would be trusted; intervals: 95 %\n"
        f"All models: {TEST_WORLD.removeprefix('† ')}",
        fontsize=9,
    )
    return figure


def _model_panel(axes: Axes, by_model: Mapping[str, TestModelRow], models: Sequence[str]) -> None:
    for place, model in enumerate(models):
        if model in by_model:
            row = by_model[model]
            axes.plot([row.faithful] * 2, [place - 0.4, place + 0.4], "k-", linewidth=1.6, label="truth", zorder=5)
            for side, (name, (marker, color)) in enumerate(_MARKERS.items(), start=-1):
                _model_point(axes, row, name, place - side * _MODEL_DODGE, marker, color)


def _model_point(axes: Axes, row: TestModelRow, name: str, place: float, marker: str, color: str) -> None:
    value, (low, high) = getattr(row, name), limits(row, name)
    if value is None:
        return
    if low is not None and high is not None:
        axes.plot([low, high], [place, place], color=color, linewidth=1.1, zorder=3)
    axes.plot(value, place, marker, color=color, markersize=4, zorder=4, label=MEASURES[name])
