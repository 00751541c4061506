"""Calibration plot: what was measured against what is known, a panel for every setting of the instrument."""

from collections import defaultdict
from collections.abc import Sequence
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfeval.edct.tables.calibration import NO_CONDITION_NOTE, SETTING, TOLERANCE, CalibrationRow, title_of
from cfeval.report.bars import COLORS, GRID, MUTED
from cfeval.report.figures import TEST_WORLD, empty_figure, plain, share_ticks, strip_spines, use_style

_COLUMNS, _PANEL_INCHES, _LEGEND_INCHES = 4, 2.5, 0.7
_SERIES = {
    "strict_ccs": ("^", COLORS[3], -2, "strict CCS, edct-2025"),
    "ccs": ("o", COLORS[0], -1, "CCS, edct-2025"),
    "corrected": ("D", COLORS[2], 0, "the same, corrected for the judge's error"),
    "bench_ccs": ("s", COLORS[1], 1, "CCS, edct-bench-2026"),
}
WORTH_TELLING = 0.95
"""Below it a citation rate is named: CCS leaves out what cites something absent."""
_CHARACTERS = 36
"""Of a line of the caption, for each column of panels."""
_DODGE = 0.022
"""How far apart the figures of one target are drawn, and the targets of one share."""


def draw(rows: Sequence[CalibrationRow]) -> Figure:
    """One panel a setting, one group of points a target. Without a row, a sentence that says so."""
    use_style()
    if not rows:
        return empty_figure(Figure(figsize=(6.4, 2), layout="constrained"), NO_CONDITION_NOTE)
    panels = _panels(rows)
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


def _panels(rows: Sequence[CalibrationRow]) -> list[list[CalibrationRow]]:
    """The rows of each setting, in the order of the table."""
    found: dict[tuple[str, ...], list[CalibrationRow]] = defaultdict(list)
    for row in rows:
        found[tuple(getattr(row, name) for name in SETTING)].append(row)
    return list(found.values())


def _panel(axes: Axes, of: Sequence[CalibrationRow], rows: Sequence[CalibrationRow]) -> None:
    strip_spines(axes, "bottom", "left")
    axes.set_xlim(-0.12, 1.2)
    axes.set_ylim(-0.05, 1.08)
    share_ticks(axes, "x", "y")
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_title(plain(title_of(of[0], rows)), fontsize=9)
    axes.fill_between([0, 1], [1 - TOLERANCE, -TOLERANCE], [1 + TOLERANCE, TOLERANCE], color=MUTED, alpha=0.15, lw=0)
    axes.plot([0, 1], [1, 0], "--", color=MUTED, linewidth=1, label=f"1 − p, ± {TOLERANCE:g}")
    for metric, (marker, color, side, label) in _SERIES.items():
        _points(axes, of, metric, (marker, color, side, label))
    _names(axes, of, rows)


def _points(axes: Axes, of: Sequence[CalibrationRow], metric: str, look: tuple[str, str, int, str]) -> None:
    marker, color, side, label = look
    for place, row in enumerate(of):
        value, low, high = (getattr(row, f"{metric}{end}") for end in ("", "_lo", "_hi"))
        if value is None:
            continue
        x = _place(of, place) + side * _DODGE
        if low is not None and high is not None:
            axes.plot([x, x], [low, high], color=color, linewidth=1.2, zorder=3, clip_on=False)
        axes.plot(x, value, marker, color=color, markersize=4, zorder=4, clip_on=False, label=label)


def _place(of: Sequence[CalibrationRow], place: int) -> float:
    """Where a target stands: at its share, those of one share beside each other."""
    twins = [other for other, row in enumerate(of) if row.share == of[place].share]
    return of[place].share + 4 * _DODGE * (twins.index(place) - (len(twins) - 1) / 2)


def _names(axes: Axes, of: Sequence[CalibrationRow], rows: Sequence[CalibrationRow]) -> None:
    """Short names of the targets that share a p, above their points: nothing else tells them apart."""
    short = _short_names(rows)
    for place, row in enumerate(of):
        if row.vlm in short:
            axes.text(_place(of, place), 1.04, plain(short[row.vlm]), fontsize=7, ha="center", color=MUTED)


def _short_names(rows: Sequence[CalibrationRow]) -> dict[str, str]:
    """The targets that share a p with another, each by as many first letters as it takes, at least two."""
    shares = {row.vlm: row.share for row in rows}
    crowded = [vlm for vlm, share in shares.items() if list(shares.values()).count(share) > 1]
    size = next(n for n in range(2, 99) if len({vlm[:n] for vlm in crowded}) == len(crowded))
    return {vlm: vlm[:size] for vlm in crowded}
