"""Validity of counterfactuals: does the classifier see the target (TA), and do the oracles (OTA)?

One panel a classifier, with and without cone projection and x0-prediction. Near the diagonal the oracles agree with the
classifier; below it are adversarial examples, which only the classifier is taken in by. Rejection keeps what the
classifier sees as the target, so its point has TA 1, and as OTA the conditional validity. A flawed classifier's
panel says what was planted in it and what the oracles find.
"""

from collections.abc import Sequence
from math import ceil
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfeval.report.colors import COLORS, GRID, INK, MUTED
from cfeval.report.figures import empty_figure, plain, share_ticks, strip_spines, use_style
from cfeval.vce.tables.methods import EMPTY
from cfeval.vce.tables.summary import SummaryRow

_ACROSS, _PANEL_INCHES, _FRAME_INCHES = 4, 2.15, 1.2
_LIMITS = (-0.05, 1.05)
_CONE, _PLAIN = COLORS[0], COLORS[1]
_MARKS = {
    "base": ("o", _CONE, True, "cone and x0 (base)"),
    "no x0": ("o", _CONE, False, "cone, no x0"),
    "no cone": ("D", _PLAIN, True, "no cone, x0"),
    "neither": ("D", _PLAIN, False, "no cone, no x0"),
    "unguided": ("x", MUTED, True, "unguided"),
}
"""By what a method stands for: marker, color, whether it is filled, name."""
_REJECTION = "no cone, rejection: what is kept"
_PLANTED_ACROSS = 32
"""Letters in a line of what was planted."""
_LINKS = (("base", "no cone"), ("no x0", "neither"))
"""What cone projection does, with and without x0-prediction."""
Point = tuple[float, float]
Panel = tuple[str, str, str]
"""Image set, denoiser, classifier."""


def draw(rows: Sequence[SummaryRow]) -> Figure:
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
    kinds = {_panel(row): row.kind for row in rows}
    defects = {_panel(row): row.defect for row in rows}
    kept = {_panel(row): row.mean for row in rows if (row.role, row.metric) == ("no cone", "cv")}
    everywhere = [point for of in panels.values() for point in of.values()]
    for axes, (panel, of) in zip(grid.flat, panels.items(), strict=False):
        _frame(axes, _title(panel, list(panels)), kinds[panel], everywhere)
        _draw_points(axes, of)
        _draw_rejection(axes, of.get("no cone"), kept.get(panel))
        _say_planted(axes, defects[panel], kept.get(panel))
    _explain(grid.flat[0])
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    for axes in grid.flat[: len(panels)][-across:]:
        axes.tick_params(labelbottom=True)
    figure.supxlabel("TA: the explained classifier sees the target", fontsize=9)
    figure.supylabel("OTA: oracles see the target (mean)", fontsize=9)
    _legend(figure, grid.flat[0], {role for of in panels.values() for role in of}, any(kept.values()))
    return figure


def _panel(row: SummaryRow) -> Panel:
    return row.image_set, row.denoiser, row.classifier


def _points(rows: Sequence[SummaryRow]) -> dict[Panel, dict[str, Point]]:
    """TA and OTA of each classifier by what the method stands for; other methods are left out."""
    found: dict[Panel, dict[str, dict[str, float]]] = {}
    for row in rows:
        if row.role in _MARKS and row.metric in ("ta", "ota") and row.mean is not None:
            of = found.setdefault(_panel(row), {})
            of.setdefault(row.role, {})[row.metric] = row.mean
    placed = {
        panel: {role: (figures["ta"], figures["ota"]) for role, figures in of.items() if len(figures) > 1}
        for panel, of in found.items()
    }
    return {panel: of for panel, of in placed.items() if of}


def _title(panel: Panel, panels: Sequence[Panel]) -> str:
    """The classifier, and where there are several settings its own."""
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


def _explain(axes: Axes) -> None:
    """What lies below the diagonal, once, along it."""
    look = {"rotation": 45, "rotation_mode": "anchor", "ha": "center", "va": "top"}
    axes.text(0.4, 0.36, "adversarial below", color=MUTED, fontsize=7, style="italic", **look)  # type: ignore[arg-type]


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
    axes.plot(1, kept, ">", markersize=6, zorder=5, clip_on=False, **_kept_look())  # type: ignore[arg-type]


def _kept_look() -> dict[str, object]:
    return {"markerfacecolor": "white", "markeredgecolor": _PLAIN, "markeredgewidth": 1.3}


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
        axes.plot([], [], ">:", color=_PLAIN, markersize=6, label=_REJECTION, **_kept_look())  # type: ignore[arg-type]
    figure.legend(loc="outside upper center", ncols=3, handletextpad=0.6, columnspacing=1.6)
