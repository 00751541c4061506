"""The figures of vce: validity, does the classifier see the target (TA), and do the oracles (OTA)? And its cost.

Validity, one panel a classifier, with and without cone projection and x0-prediction: near the diagonal the oracles
agree with the classifier; below it are adversarial examples, which only the classifier is taken in by. Rejection keeps
what the classifier sees as the target, so its point has TA 1, and as OTA the conditional validity. A flawed
classifier's panel says what was planted in it and what the oracles find.
"""

from collections.abc import Sequence
from math import ceil
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from cfeval.report.bars import COLORS, GRID, INK, MUTED
from cfeval.report.figures import empty_figure, plain, share_ticks, strip_spines, use_style
from cfeval.vce.tables.group_scores import setting_of
from cfeval.vce.tables.methods import EMPTY, CostRow, averaged
from cfeval.vce.tables.paper import SummaryRow

_ACROSS, _PANEL_INCHES, _FRAME_INCHES = 4, 2.15, 1.2
_LIMITS = (-0.05, 1.05)
_CONE, _PLAIN = COLORS[0], COLORS[1]
# By what a method stands for: marker, color, whether it is filled, name.
_MARKS = {
    "base": ("o", _CONE, True, "cone and x0 (base)"),
    "no x0": ("o", _CONE, False, "cone, no x0"),
    "no cone": ("D", _PLAIN, True, "no cone, x0"),
    "neither": ("D", _PLAIN, False, "no cone, no x0"),
    "unguided": ("x", MUTED, True, "unguided"),
}
_REJECTION = "no cone, rejection: what is kept"
_PLANTED_ACROSS = 32  # letters in a line of what was planted
# What cone projection does, with and without x0-prediction.
_LINKS = (("base", "no cone"), ("no x0", "neither"))
_KEPT: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": _PLAIN, "markeredgewidth": 1.3}
Point = tuple[float, float]
Panel = tuple[str, str, str]
"""Image set, denoiser, classifier."""


def draw_validity(rows: Sequence[SummaryRow]) -> Figure:
    """A panel a classifier; without figures, a sentence that says so."""
    use_style()
    panels = _points(rows)
    if not panels:
        text = "No method has both TA and OTA." if rows else EMPTY
        return empty_figure(Figure(figsize=(5.8, 2.4), layout="constrained"), text)
    across = min(_ACROSS, len(panels))
    down = ceil(len(panels) / across)
    size = (max(across, 2) * _PANEL_INCHES + 0.4, down * (_PANEL_INCHES + 0.15) + _FRAME_INCHES)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    kinds = {(*setting_of(row), row.classifier): row.kind for row in rows}
    defects = {(*setting_of(row), row.classifier): row.defect for row in rows}
    kept = {(*setting_of(row), row.classifier): row.mean for row in rows if (row.role, row.metric) == ("no cone", "cv")}
    everywhere = [point for of in panels.values() for point in of.values()]
    for axes, (panel, of) in zip(grid.flat, panels.items(), strict=False):
        _frame(axes, _title(panel, list(panels)), kinds[panel], everywhere)
        _draw_points(axes, of)
        _draw_rejection(axes, of.get("no cone"), kept.get(panel))
        _say_planted(axes, defects[panel], kept.get(panel))
    look = {"rotation": 45, "rotation_mode": "anchor", "ha": "center", "va": "top"}  # once, along the diagonal
    grid.flat[0].text(0.4, 0.36, "adversarial below", color=MUTED, fontsize=7, style="italic", **look)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    for axes in grid.flat[: len(panels)][-across:]:
        axes.tick_params(labelbottom=True)
    figure.supxlabel("TA: the explained classifier sees the target", fontsize=9)
    figure.supylabel("OTA: oracles see the target (mean)", fontsize=9)
    _legend(figure, grid.flat[0], {role for of in panels.values() for role in of}, any(kept.values()))
    return figure


def _points(rows: Sequence[SummaryRow]) -> dict[Panel, dict[str, Point]]:
    """TA and OTA of each classifier by what the method stands for; other methods are left out."""
    found: dict[Panel, dict[str, dict[str, float]]] = {}
    for row in rows:
        if row.role in _MARKS and row.metric in ("ta", "ota") and row.mean is not None:
            of = found.setdefault((*setting_of(row), row.classifier), {})
            of.setdefault(row.role, {})[row.metric] = row.mean
    placed = {
        panel: {role: (figures["ta"], figures["ota"]) for role, figures in of.items() if len(figures) > 1}
        for panel, of in found.items()
    }
    return {panel: of for panel, of in placed.items() if of}


def _title(panel: Panel, panels: Sequence[Panel]) -> str:
    several = len({other[:2] for other in panels}) > 1
    return plain(" · ".join((panel[2], *panel[:2])) if several else panel[2])


def _frame(axes: Axes, title: str, kind: str, everywhere: Sequence[Point]) -> None:
    strip_spines(axes, "bottom", "left")
    axes.set(xlim=_LIMITS, ylim=_LIMITS, aspect="equal")
    share_ticks(axes, "x", "y")
    axes.tick_params(labelsize=7)
    axes.grid(color=GRID, linewidth=0.6)
    axes.fill_between([0, 1], [0, 1], color=GRID, alpha=0.35, linewidth=0, zorder=0)
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.7, zorder=1)
    axes.plot(*zip(*everywhere, strict=True), ".", color=GRID, markersize=4, zorder=1, clip_on=False)
    axes.set_title(title, fontsize=9, color=INK, loc="left", pad=5)
    if kind:
        axes.set_title(kind, fontsize=7.5, color=MUTED, loc="right", pad=5)


def _draw_points(axes: Axes, of: dict[str, Point]) -> None:
    for start, end in _LINKS:
        if start in of and end in of:
            axes.plot(*zip(of[start], of[end], strict=True), color=MUTED, linewidth=1, zorder=2)
    for role, point in reversed(of.items()):
        marker, color, filled, _ = _MARKS[role]
        look = {"markerfacecolor": color if filled else "white", "markeredgecolor": color, "markeredgewidth": 1.3}
        axes.plot(*point, marker, markersize=6, zorder=4, clip_on=False, **look)  # type: ignore[arg-type]


def _draw_rejection(axes: Axes, start: Point | None, kept: float | None) -> None:
    """From all counterfactuals without the cone to those of them that rejection keeps."""
    if start is None or kept is None:
        return
    axes.plot([start[0], 1], [start[1], kept], ":", color=_PLAIN, linewidth=1.2, zorder=2)
    axes.plot(1, kept, ">", markersize=6, zorder=5, clip_on=False, **_KEPT)


def _say_planted(axes: Axes, defect: str, kept: float | None) -> None:
    """The known defect, and without the cone how often the oracles see the target where the classifier does."""
    if not defect:
        return
    found = "none is valid" if kept is None else f"oracles confirm {kept:.0%} of valid ones"
    lines = [*wrap(f"planted: {defect}", _PLANTED_ACROSS), *wrap(f"found: {found}", _PLANTED_ACROSS)]
    look: dict[str, object] = {
        "ha": "left",
        "va": "top",
        "fontsize": 6.8,
        "color": INK,
        "linespacing": 1.25,
        "zorder": 6,
    }
    look["bbox"] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
    axes.text(0.0, 1.0, plain("\n".join(lines)), **look)  # type: ignore[arg-type]


def _legend(figure: Figure, axes: Axes, roles: set[str], rejection: bool) -> None:
    for role, (marker, color, filled, name) in _MARKS.items():
        if role in roles:
            face = color if filled else "white"
            axes.plot([], [], marker, color=color, markerfacecolor=face, markersize=6, label=name)
    axes.plot([], [], color=MUTED, linewidth=1, label="what the cone changes")
    if rejection:
        axes.plot([], [], ">:", color=_PLAIN, markersize=6, label=_REJECTION, **_KEPT)
    figure.legend(loc="outside upper center", ncols=3, handletextpad=0.6, columnspacing=1.6)


_COST_INCHES = (6.2, 3.8)
_NEAR = (1.2, 0.04)  # ratio of passes and difference of shares below which two points share a label


def draw_cost(rows: Sequence[CostRow]) -> Figure:
    """Validity against cost, a panel a setting: what share oracles see as the target (OTA), over the passes of the
    denoiser that it takes; without figures, a sentence that says so.

    A point a method, the mean over the trained classifiers that all methods explain; the open circle above it is the
    share that the classifier itself sees (TA). A long line between the two marks adversarial examples.
    """
    use_style()
    points = [row for row in averaged(rows) if None not in (row.passes, row.ota, row.ta)]
    settings = list(dict.fromkeys(map(setting_of, points)))
    if not settings:
        text = "No method has both TA and OTA." if rows else EMPTY
        return empty_figure(Figure(figsize=(5.8, 2.4), layout="constrained"), text)
    size = (_COST_INCHES[0], _COST_INCHES[1] * len(settings))
    figure = Figure(figsize=size, layout="constrained")
    for axes, setting in zip(figure.subplots(len(settings), squeeze=False).flat, settings, strict=True):
        _cost_panel(axes, [row for row in points if setting_of(row) == setting])
        if len(settings) > 1:
            axes.set_title(plain(" · ".join(setting)), fontsize=9, color=INK, loc="left")
    figure.supxlabel("Forward and backward passes of the denoiser for one counterfactual", fontsize=9)
    figure.supylabel("Seen as the target", fontsize=9)
    return figure


def _cost_panel(axes: Axes, points: Sequence[CostRow]) -> None:
    strip_spines(axes, "bottom", "left")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.set_ylim(-0.05, 1.05)
    axes.margins(x=0.12)
    share_ticks(axes, "y")
    axes.grid(color=GRID, linewidth=0.6)
    for row in points:
        passes, ta, ota = float(row.passes or 0), float(row.ta or 0), float(row.ota or 0)
        axes.plot([passes, passes], [ota, ta], color=MUTED, linewidth=1, zorder=2)
        axes.plot(passes, ta, "o", markersize=6, markerfacecolor="white", markeredgecolor=COLORS[1], zorder=3)
        axes.plot(passes, ota, "o", markersize=6, color=COLORS[0], zorder=4)
    for (passes, ota), names in _labels(points).items():
        look = {"textcoords": "offset points", "fontsize": 7, "color": INK}
        axes.annotate(plain(", ".join(names)), (passes, ota), (5, -9), **look)  # type: ignore[arg-type]
    axes.plot([], [], "o", color=COLORS[0], markersize=6, label="OTA: by the oracles")
    axes.plot([], [], "o", markerfacecolor="white", markeredgecolor=COLORS[1], label="TA: by the classifier")
    axes.legend(loc="lower right", fontsize=7)


def _labels(points: Sequence[CostRow]) -> dict[tuple[float, float], list[str]]:
    found: dict[tuple[float, float], list[str]] = {}
    for row in sorted(points, key=lambda row: row.passes or 0):
        place = float(row.passes or 0), float(row.ota or 0)
        near = (one for one in found if place[0] < _NEAR[0] * one[0] and abs(place[1] - one[1]) < _NEAR[1])
        found.setdefault(next(near, place), []).append(row.method)
    return found
