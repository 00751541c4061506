"""The figures of edct: Table 1 with intervals, the two axes of faithfulness, test models, calibration, given pairs."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfeval.edct.faithfulness.card import FIT_BOUND
from cfeval.edct.pairs.table import NAMES as PAIR_NAMES
from cfeval.edct.pairs.table import NO_PAIRS_NOTE, PairRow
from cfeval.edct.tables.calibration import NO_CONDITION_NOTE as NO_KNOWN_NOTE
from cfeval.edct.tables.calibration import SETTING, TOLERANCE, CalibrationRow, title_of
from cfeval.edct.tables.conditions import ConditionRow, name_cell
from cfeval.edct.tables.faithfulness import ControlRow
from cfeval.edct.tables.scores import NAMES, NO_CONDITION_NOTE
from cfeval.edct.tables.test_models import MEASURES, TestModelRow
from cfeval.report.bars import COLORS, GRID, INK, MUTED
from cfeval.report.figures import (
    TEST_WORLD,
    empty_figure,
    intervals_line,
    legend_once,
    plain,
    share_ticks,
    strip_spines,
    use_style,
)
from cfeval.report.tables import limits, varying


def condition_labels(rows: Sequence[Any]) -> list[str]:
    """What tells each condition from the others, targets of the test world marked; rows have `test_world`."""
    names = sorted(varying(rows, NAMES), key=lambda name: name != "vlm")
    labels = [" · ".join(getattr(row, name) for name in names) for row in rows]
    return [
        plain(label.replace(row.vlm, f"{row.vlm} †", 1) if row.test_world else label)
        for row, label in zip(rows, labels, strict=True)
    ]


def draw_forest(rows: Sequence[ConditionRow]) -> Figure:
    """Forest plot, one line a condition, in the order of the table: CCS with its interval; beside it strict CCS, PCS,
    NCC and what missing items allow, and in figures the citation rate. Without a condition, a sentence that says so.
    """
    use_style()
    figure = Figure(figsize=(9.4, 1.55 + 0.34 * len(rows)), layout="constrained")
    if not rows:
        return empty_figure(figure, NO_CONDITION_NOTE)
    axes = figure.add_subplot()
    strip_spines(axes, "bottom")
    axes.set_yticks(range(len(rows)), condition_labels(rows))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-0.02, 1.02)
    share_ticks(axes, "x")
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    caption = [
        "CCS, the share of explanations that hold; there: citation rate, the share that cite what is in the image",
        intervals_line(rows),
    ]
    caption += [TEST_WORLD] if any(row.test_world for row in rows) else []
    axes.set_xlabel("\n".join(caption))
    for place, row in enumerate(rows):
        _forest_line(axes, place, row)
    axes.plot([], [], "o-", color=COLORS[0], linewidth=2, label="CCS")
    axes.plot([], [], "s", color=COLORS[2], markersize=8, fillstyle="none", label="strict CCS")
    axes.plot([], [], "|", color=MUTED, markersize=10, markeredgewidth=1.2, label="PCS (answer)")
    axes.plot([], [], "x", color=MUTED, markeredgewidth=1.2, label="NCC (explanation)")
    if any(row.missing for row in rows):
        axes.plot([], [], color=GRID, linewidth=7, label="what missing items allow")
    if any(row.paper_ccs is not None for row in rows):
        axes.plot([], [], "*", color=COLORS[1], label="published CCS")
    figure.legend(loc="outside upper center", ncols=6, handletextpad=0.6, columnspacing=1.4)
    return figure


def _forest_line(axes: Axes, place: int, row: ConditionRow) -> None:
    if row.ccs_min is not None and row.ccs_max is not None and row.ccs_max > row.ccs_min:
        axes.plot([row.ccs_min, row.ccs_max], [place, place], color=GRID, linewidth=7, solid_capstyle="butt", zorder=1)
    for value, marker, size in ((row.pcs, "|", 12), (row.ncc, "x", 6)):
        if value is not None:
            axes.plot(value, place, marker, color=MUTED, markersize=size, markeredgewidth=1.2, zorder=2, clip_on=False)
    if row.strict_ccs is not None:
        axes.plot(row.strict_ccs, place, "s", color=COLORS[2], markersize=10, fillstyle="none", zorder=5, clip_on=False)
    if row.paper_ccs is not None:
        axes.plot(row.paper_ccs, place, "*", color=COLORS[1], markersize=8, zorder=2)
    beside: dict[str, Any] = {"x": 1.03, "y": place, "va": "center", "fontsize": 8}
    beside["transform"] = axes.get_yaxis_transform()
    there = "not known" if row.citation_rate is None else f"{row.citation_rate:.2f}"
    scored = f"{row.n_scored} of {row.n}   there: {there}"
    low, high = limits(row, "ccs")
    if row.ccs is None or low is None or high is None:
        axes.text(s=f"none scored   ({scored})", color=MUTED, **beside)
        return
    axes.plot([low, high], [place, place], color=COLORS[0], linewidth=2, zorder=3, clip_on=False)
    axes.plot(row.ccs, place, "o", color=COLORS[0], markersize=7, zorder=4, clip_on=False)
    axes.text(s=f"{row.ccs:.2f}  [{low:.2f}, {high:.2f}]   {scored}", **beside)


_LIMITS = (-0.04, 1.06)
# About the width of a letter and the height of a line of a label, and its distance from the point, on the axes.
_CHARACTER, _LINE, _GAP = 0.0165, 0.034, 0.022


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
    """The two axes of faithfulness: does what is cited matter (CCS), and is what matters cited (completeness)? One
    cross a condition, with the intervals of both figures; without a row, a sentence that says so.
    """
    use_style()
    figure = Figure(figsize=(5.8, 5.4), layout="constrained")
    full = [row for row in rows if not row.completeness_empty]
    placed = [row for row in full if row.ccs is not None and row.completeness is not None]
    if not placed:
        return empty_figure(figure, "No condition has both CCS and completeness." if rows else NO_CONDITION_NOTE)
    axes = figure.add_subplot()
    strip_spines(axes, "bottom", "left")
    axes.set(xlim=_LIMITS, ylim=_LIMITS, aspect="equal")
    share_ticks(axes, "x", "y")
    axes.grid(color=GRID, linewidth=0.8)
    empty = [plain(label) for label, row in zip(condition_labels(rows), rows, strict=True) if row.completeness_empty]
    caption = ["CCS: does what is cited matter?", *([TEST_WORLD] if any(row.test_world for row in placed) else [])]
    caption += wrap(f"no completeness, as a blank image changes nothing: {', '.join(empty)}", 72) if empty else []
    axes.set_xlabel("\n".join(caption))
    axes.set_ylabel("completeness: is what matters cited?")
    taken = [_Box(x - 0.012, x + 0.012, y - 0.012, y + 0.012) for x, y in map(_place_on_axes, placed)]
    for row, label in zip(placed, condition_labels(placed), strict=True):
        x, y = _place_on_axes(row)
        if row.noise_floor is not None:
            axes.plot(row.noise_floor, y, "|", color=MUTED, markersize=9, markeredgewidth=1.6, zorder=5, clip_on=False)
        for metric, along_x in (("ccs", True), ("completeness", False)):
            low, high = limits(row, metric)
            if low is not None and high is not None:
                line = ([low, high], [y, y]) if along_x else ([x, x], [low, high])
                axes.plot(*line, color=COLORS[0], linewidth=1.6, zorder=3, clip_on=False)
        axes.plot(x, y, "o", color=COLORS[0], markersize=6, zorder=4, clip_on=False)
        taken.append(_name_at(axes, x, y, label, taken))
    axes.plot([], [], "o-", color=COLORS[0], linewidth=1.6, label="condition, with both intervals")
    if any(row.noise_floor is not None for row in placed):
        what = "noise floor: moves though nothing was changed"
        axes.plot([], [], "|", color=MUTED, markersize=9, markeredgewidth=1.6, label=what)
    figure.legend(loc="outside upper center", ncols=2, handletextpad=0.6, columnspacing=1.4)
    return figure


def _place_on_axes(row: ControlRow) -> tuple[float, float]:
    """Where a condition stands; only for rows that have both figures."""
    return float(row.ccs or 0), float(row.completeness or 0)


def _name_at(axes: Axes, x: float, y: float, label: str, taken: Sequence[_Box]) -> _Box:
    """Write a name where it covers no point and no other name, as near to its point as can be."""

    def spots() -> Iterator[_Box]:
        width = _CHARACTER * len(label)
        for away in range(16):
            for low in (y + _GAP / 2 + away * _LINE, y - _GAP / 2 - (away + 1) * _LINE):
                yield _Box(x + _GAP, x + _GAP + width, low, low + _LINE)
                yield _Box(x - _GAP - width, x - _GAP, low, low + _LINE)

    free = (spot for spot in spots() if spot.inside() and not any(map(spot.meets, taken)))
    box = next(free, next(spots()))
    side = "left" if box.left > x else "right"
    axes.text(box.left if side == "left" else box.right, box.low, label, fontsize=8, ha=side, va="bottom", zorder=6)
    return box


_MARKERS = {"ccs": ("o", COLORS[1]), "strict_ccs": ("s", COLORS[2]), "fit": ("D", COLORS[0])}


def draw_test_models(rows: Sequence[TestModelRow]) -> Figure:
    """What every measure makes of each test model, beside what is known of it: a line a model, from the most to the
    least faithful, and a panel a setting of the instrument; without a row, a sentence that says so.
    """
    use_style()
    if not rows:
        return empty_figure(Figure(figsize=(7.4, 2), layout="constrained"), NO_CONDITION_NOTE)
    names = [name for name in varying(rows, NAMES, ()) if name != "vlm"]
    panels: dict[str, dict[str, TestModelRow]] = defaultdict(dict)
    for row in rows:
        panels[" · ".join(getattr(row, name) for name in names)][row.vlm] = row
    models = sorted(dict.fromkeys(row.vlm for row in rows), key={row.vlm: row.faithful for row in rows}.__getitem__)
    figure = Figure(figsize=(7.4, 0.26 * len(models) + 1.5), layout="constrained")
    grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (setting, by_model) in zip(grid, panels.items(), strict=True):
        strip_spines(axes, "bottom", "left")
        axes.set(xlim=(-0.04, 1.06), ylim=(-0.7, len(models) - 0.3))
        share_ticks(axes, "x")
        axes.set_yticks(range(len(models)), [f"{plain(model)} †" for model in models], fontsize=8)
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        axes.axvline(FIT_BOUND, color=MUTED, linestyle=":", linewidth=1.2)
        axes.set_title(plain(setting), fontsize=9)
        for place, model in enumerate(models):
            if model in by_model:
                _test_model(axes, place, by_model[model])
    legend_once(figure, grid[:1], ncols=4)
    figure.supxlabel(
        "right of the dotted line a model would be trusted; intervals: 95 %\n"
        f"All models: {TEST_WORLD.removeprefix('† ')}",
        fontsize=9,
    )
    return figure


def _test_model(axes: Axes, place: int, row: TestModelRow) -> None:
    axes.plot([row.faithful] * 2, [place - 0.4, place + 0.4], "k-", linewidth=1.6, label="truth", zorder=5)
    for side, (name, (marker, color)) in enumerate(_MARKERS.items(), start=-1):
        value, (low, high), y = getattr(row, name), limits(row, name), place - side * 0.22
        if value is None:
            continue
        if low is not None and high is not None:
            axes.plot([low, high], [y, y], color=color, linewidth=1.1, zorder=3)
        axes.plot(value, y, marker, color=color, markersize=4, zorder=4, label=MEASURES[name])


_COLUMNS, _PANEL_INCHES, _LEGEND_INCHES = 4, 2.5, 0.7
_SERIES = {
    "strict_ccs": ("^", COLORS[3], -2, "strict CCS, edct-2025"),
    "ccs": ("o", COLORS[0], -1, "CCS, edct-2025"),
    "corrected": ("D", COLORS[2], 0, "the same, corrected for the judge's error"),
    "bench_ccs": ("s", COLORS[1], 1, "CCS, edct-bench-2026"),
}
WORTH_TELLING = 0.95
"""Below it a citation rate is named: CCS leaves out what cites something absent."""
_DODGE = 0.022  # how far apart the figures of one target are drawn, and the targets of one share


def draw_calibration(rows: Sequence[CalibrationRow]) -> Figure:
    """What was measured against what is known: a panel a setting of the instrument, one group of points a target.
    Without a row, a sentence that says so.
    """
    use_style()
    if not rows:
        return empty_figure(Figure(figsize=(6.4, 2), layout="constrained"), NO_KNOWN_NOTE)
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
            _calibration_panel(axes, panels[number], rows)
        else:
            axes.set_visible(False)
            grid.flat[number - columns].tick_params(labelbottom=True)
    caption = [line for text in _caption(rows) for line in wrap(text, 36 * max(columns, 2))]
    figure.supxlabel("\n".join(caption), fontsize=9)
    figure.supylabel("measured", fontsize=9)
    legend_once(figure, grid.flat, ncols=4 if columns > 2 else 2)
    return figure


def _caption(rows: Sequence[CalibrationRow]) -> Iterator[str]:
    """What the axis is, and the targets behind the short names."""
    yield f"p, known share of items that the target answers unfaithfully; intervals: {rows[0].ci}"
    rates = {row.vlm: row.citation_rate for row in rows if row.citation_rate is not None}
    absent = [f"{plain(vlm)} {rate:.2f}" for vlm, rate in rates.items() if rate < WORTH_TELLING]
    if rates:
        yield "Citation rate: " + ", ".join([*absent, f"others {WORTH_TELLING:g} or more"])
    if short := _short_names(rows):
        yield ", ".join(f"{plain(name)}: {plain(vlm)}" for vlm, name in short.items())
    yield f"All targets: {TEST_WORLD.removeprefix('† ')}"


def _calibration_panel(axes: Axes, panel: Sequence[CalibrationRow], rows: Sequence[CalibrationRow]) -> None:
    strip_spines(axes, "bottom", "left")
    axes.set_xlim(-0.12, 1.2)
    axes.set_ylim(-0.05, 1.08)
    share_ticks(axes, "x", "y")
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_title(plain(title_of(panel[0], rows)), fontsize=9)
    axes.fill_between([0, 1], [1 - TOLERANCE, -TOLERANCE], [1 + TOLERANCE, TOLERANCE], color=MUTED, alpha=0.15, lw=0)
    axes.plot([0, 1], [1, 0], "--", color=MUTED, linewidth=1, label=f"1 − p, ± {TOLERANCE:g}")
    for metric, (marker, color, side, label) in _SERIES.items():
        for place, row in enumerate(panel):
            value, (low, high), x = getattr(row, metric), limits(row, metric), _at_share(panel, place) + side * _DODGE
            if value is None:
                continue
            if low is not None and high is not None:
                axes.plot([x, x], [low, high], color=color, linewidth=1.2, zorder=3, clip_on=False)
            axes.plot(x, value, marker, color=color, markersize=4, zorder=4, clip_on=False, label=label)
    short = _short_names(rows)  # nothing else tells apart the targets that share a p
    for place, row in enumerate(panel):
        if row.vlm in short:
            axes.text(_at_share(panel, place), 1.04, plain(short[row.vlm]), fontsize=7, ha="center", color=MUTED)


def _at_share(panel: Sequence[CalibrationRow], place: int) -> float:
    """Where a target stands: at its share, those of one share beside each other."""
    twins = [other for other, row in enumerate(panel) if row.share == panel[place].share]
    return panel[place].share + 4 * _DODGE * (twins.index(place) - (len(twins) - 1) / 2)


def _short_names(rows: Sequence[CalibrationRow]) -> dict[str, str]:
    """The targets that share a p with another, each by as many first letters as it takes, at least two."""
    shares = {row.vlm: row.share for row in rows}
    crowded = [vlm for vlm, share in shares.items() if list(shares.values()).count(share) > 1]
    size = next(n for n in range(2, 99) if len({vlm[:n] for vlm in crowded}) == len(crowded))
    return {vlm: vlm[:size] for vlm in crowded}


# The cells of the 2 × 2 table. Blue: phi rises with it; orange: it falls.
_CELLS = {
    "moved_named": ("moved, named", COLORS[0], 1.0),
    "moved_unnamed": ("moved, not named", COLORS[1], 1.0),
    "unmoved_named": ("stayed, named", COLORS[1], 0.4),
    "unmoved_unnamed": ("stayed, not named", COLORS[0], 0.4),
}


def draw_pairs(rows: Sequence[PairRow]) -> Figure:
    """A line a condition of given pairs over all kinds of change: the 2 × 2 table (answer moved × changed thing named),
    then phi with its interval; on the right F-AUROC against words of the explanations, a point a condition.

    An explanation that names more is right more often by chance, so that F-AUROC of two targets is to be compared where
    their explanations are of like length (Siegel et al. 2025). Natural pairs, of which only answers are told, have no
    line; without a line, a sentence says so.
    """
    use_style()
    shown = [row for row in rows if not row.kind and not row.natural]
    figure = Figure(figsize=(11.6, 0.34 * len(shown) + 1.6), layout="constrained")
    if not shown:
        return empty_figure(figure, "Natural pairs alone: only answers are told." if rows else NO_PAIRS_NOTE)
    left, right, third = figure.subplots(1, 3, width_ratios=(1, 1, 0.9))
    right.sharey(left)
    right.tick_params(labelleft=False)
    for axes in (left, right):
        strip_spines(axes, "bottom")
    _lengths(third, shown)
    names = varying(shown, PAIR_NAMES)
    labels = [plain(" · ".join(name_cell(name, row) for name in names)) for row in shown]
    left.set_yticks(range(len(shown)), [f"{label}  {number}" for number, label in enumerate(labels, start=1)])
    left.set_ylim(len(shown) - 0.4, -0.6)
    for place, row in enumerate(shown):
        _counts(left, place, row)
        _phi(right, place, row)
    left.set_xlim(0, 1)
    share_ticks(left, "x")
    left.set_xlabel("share of scored pairs: the answer, the changed thing")
    right.set_xlim(-1.05, 1.05)
    right.set_xticks((-1, -0.5, 0, 0.5, 1), ("−1", "−.50", "0", ".50", "1"))
    right.grid(axis="x", color=GRID, linewidth=0.8)
    right.axvline(0, color=MUTED, linestyle=":", linewidth=1.2)
    right.set_xlabel("φ of (answer moved, changed thing named)")
    caption = [intervals_line(shown), *([TEST_WORLD] if any(row.test_world for row in shown) else [])]
    figure.supxlabel("\n".join(caption), fontsize=8)
    legend_once(figure, (left, right), ncols=3, columnspacing=1.4)
    return figure


def _lengths(axes: Axes, rows: Sequence[PairRow]) -> None:
    """F-AUROC against the mean words of both explanations, each target by the number of its line."""
    strip_spines(axes, "left", "bottom")
    axes.set_ylim(-0.03, 1.03)
    share_ticks(axes, "y")
    axes.axhline(0.5, color=MUTED, linestyle=":", linewidth=1.2)
    axes.set_xlabel("mean words of both explanations")
    axes.set_ylabel("F-AUROC")
    for number, row in enumerate(rows, start=1):
        low, high = limits(row, "f_auroc")
        if row.f_auroc is None or row.words is None or low is None or high is None:
            continue
        axes.plot([row.words, row.words], [low, high], color=COLORS[0], linewidth=1.2, alpha=0.5, zorder=3)
        axes.plot(row.words, row.f_auroc, "o", color=COLORS[0], markersize=4, zorder=4)
        axes.annotate(
            str(number), (row.words, row.f_auroc), (4, 2), textcoords="offset points", fontsize=7, color=INK, zorder=5
        )


def _counts(axes: Axes, place: int, row: PairRow) -> None:
    """The four cells as parts of a bar, each with its count where it has room."""
    total, start = sum(getattr(row, name) for name in _CELLS), 0.0
    for name, (label, color, strength) in _CELLS.items():
        count = getattr(row, name)
        width = count / total if total else 0.0
        axes.barh(place, width, 0.7, start, color=color, alpha=strength, label=label, linewidth=0)
        if width > 0.06:
            ink = "white" if strength == 1 else INK
            axes.text(start + width / 2, place, str(count), ha="center", va="center", fontsize=7, color=ink)
        start += width


def _phi(axes: Axes, place: int, row: PairRow) -> None:
    if row.expected_phi is not None:
        ends = [place - 0.35, place + 0.35]
        axes.plot([row.expected_phi] * 2, ends, color=INK, linewidth=1.6, label="expected of the test model", zorder=5)
    low, high = limits(row, "phi")
    if row.phi is None or low is None or high is None:
        why = "no φ, as expected" if row.expected_none else "no φ: one of the two never varies"
        axes.text(0, place, why, ha="center", va="center", fontsize=7, color=MUTED)
        return
    axes.plot([low, high], [place, place], color=COLORS[0], linewidth=2, zorder=3)
    axes.plot(row.phi, place, "o", color=COLORS[0], markersize=6, zorder=4, label="φ")
