"""Validity against cost: what share oracles see as the target (OTA), over the passes of the denoiser that it takes.

A point a method, the mean over the trained classifiers that all methods explain; the open circle above it is the share
that the classifier itself sees (TA). A long line between the two marks adversarial examples.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from cfeval.report.colors import COLORS, GRID, INK, MUTED
from cfeval.report.figures import empty_figure, plain, share_ticks, strip_spines, use_style
from cfeval.vce.tables.cost import CostRow, averaged
from cfeval.vce.tables.methods import EMPTY, shared

_PANEL_INCHES = (6.2, 3.8)
_NEAR = (1.2, 0.04)
"""Ratio of passes and difference of shares below which two points share a label."""


def draw(rows: Sequence[CostRow]) -> Figure:
    """A panel a setting; without figures, a sentence that says so."""
    use_style()
    points = [row for row in averaged(shared([row for row in rows if row.kind != "random"])) if _placed(row)]
    settings = list(dict.fromkeys((row.image_set, row.denoiser) for row in points))
    if not settings:
        text = "No method has both TA and OTA." if rows else EMPTY
        return empty_figure(Figure(figsize=(5.8, 2.4), layout="constrained"), text)
    size = (_PANEL_INCHES[0], _PANEL_INCHES[1] * len(settings))
    figure = Figure(figsize=size, layout="constrained")
    for axes, setting in zip(figure.subplots(len(settings), squeeze=False).flat, settings, strict=True):
        _draw(axes, [row for row in points if (row.image_set, row.denoiser) == setting])
        if len(settings) > 1:
            axes.set_title(plain(" · ".join(setting)), fontsize=9, color=INK, loc="left")
    figure.supxlabel("Forward and backward passes of the denoiser for one counterfactual", fontsize=9)
    figure.supylabel("Seen as the target", fontsize=9)
    return figure


def _placed(row: CostRow) -> bool:
    return row.passes is not None and row.ota is not None and row.ta is not None


def _draw(axes: Axes, points: Sequence[CostRow]) -> None:
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
    """The names of methods by the place where they are written; points that nearly coincide share one."""
    found: dict[tuple[float, float], list[str]] = {}
    for row in sorted(points, key=lambda row: row.passes or 0):
        place = float(row.passes or 0), float(row.ota or 0)
        near = (one for one in found if place[0] < _NEAR[0] * one[0] and abs(place[1] - one[1]) < _NEAR[1])
        found.setdefault(next(near, place), []).append(row.method)
    return found
