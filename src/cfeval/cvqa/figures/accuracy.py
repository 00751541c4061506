"""How accuracy moves from original to counterfactual questions, by solver and type (C-VQA, Tables 3 and 7)."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine

from cfeval.cvqa.records import HEADLINE, SIDES
from cfeval.cvqa.tables.accuracy import TABLE3_EMPTY, TABLE7_EMPTY
from cfeval.cvqa.tables.cells import range_of
from cfeval.cvqa.tables.replies import AccuracyRow
from cfeval.report.colors import COLORS, GRID, INK, MUTED
from cfeval.report.figures import TEST_WORLD, SteadyLayout, empty_figure, plain, share_ticks, strip_spines, use_style
from cfeval.report.tables import interval_methods

_ORIGINAL, _CHANGED, _BASELINE = COLORS[0], COLORS[1], COLORS[2]
_ROW_INCHES, _TITLE_INCHES, _FRAME_INCHES, _PANEL_INCHES, _LABEL_INCHES = 0.38, 0.5, 1.0, 2.1, 1.4
_ACROSS = 4
"""Panels beside each other."""
TITLES = {
    "direct": "Numerical, direct",
    "indirect": "Numerical, indirect",
    "boolean": "Boolean",
    "abs_counting_1": "1  Flowers, recolored",
    "abs_counting_2": "2  Flowers, some removed",
    "abs_counting_3": "3  Flowers, color removed",
    "abs_counting_4": "4  Dots, some removed",
    "abs_counting_5": "5  Dots, circles removed",
    "abs_counting_6": "6  Dots, fullest removed",
    "all": "All templates",
}


def draw(
    rows: Sequence[AccuracyRow],
    empty: str = TABLE3_EMPTY,
    layout: Literal["constrained"] | LayoutEngine = "constrained",
) -> Figure:
    """A panel a type, a line a solver, as the robust reader reads the replies; without any, a sentence."""
    use_style()
    shown = [row for row in rows if row.reader == HEADLINE]
    if not shown:
        return empty_figure(Figure(figsize=(5.8, 2.2), layout="constrained"), empty)
    lines = [line for name in dict.fromkeys(row.set for row in shown) for line in _lines(name, shown)]
    across, several = max(len(line) for line in lines), len({row.set for row in shown}) > 1
    heights = [len(_names(line[0][0], shown)) * _ROW_INCHES + _TITLE_INCHES for line in lines]
    size = (_LABEL_INCHES + _PANEL_INCHES * max(across, 2), sum(heights) + _FRAME_INCHES)
    figure = Figure(figsize=size, layout=layout)
    grid = figure.subplots(len(lines), across, squeeze=False, sharey="row", gridspec_kw={"height_ratios": heights})
    for line, some in zip(lines, grid, strict=True):
        for axes in some[len(line) :]:
            axes.set_visible(False)
        for (name, kind), axes in zip(line, some, strict=False):
            here = [row for row in rows if (row.set, row.type) == (name, kind)]
            _panel(axes, here, _names(name, shown), _title(name, kind, several and axes is some[0]))
    _legend(figure, grid.flat[0], rows)
    figure.supxlabel(_below(shown), fontsize=8.5)
    return figure


def draw_puzzles(rows: Sequence[AccuracyRow]) -> Figure:
    """The same of synthetic puzzles; of several templates also all together."""
    return draw(rows, TABLE7_EMPTY, SteadyLayout())


def _lines(name: str, rows: Sequence[AccuracyRow]) -> list[list[tuple[str, str]]]:
    """The panels of a set, line by line: set and type."""
    panels = [(name, kind) for kind in dict.fromkeys(row.type for row in rows if row.set == name)]
    return [panels[start : start + _ACROSS] for start in range(0, len(panels), _ACROSS)]


def _names(name: str, rows: Sequence[AccuracyRow]) -> dict[str, str]:
    """The solvers of a set, and what they are called: those of the test world are marked."""
    return {row.solver: f"{row.solver} †" if row.test_world else row.solver for row in rows if row.set == name}


def _title(name: str, kind: str, first: bool) -> str:
    title = TITLES.get(kind, kind.replace("_", " "))
    return plain(f"{name}:\n{title}" if first else title)  # side by side they would run into the next one


def _below(rows: Sequence[AccuracyRow]) -> str:
    said = [
        "Accuracy, as the robust reader reads the replies",
        f"intervals: {interval_methods(*(row.ci for row in rows)) or 'none'}",
    ]
    if any(row.alone for row in rows):
        said.append("one dot: the counterfactual question alone was asked")
    if any(range_of(row, side) for row in rows for side in SIDES):
        said.append("pale bars: over all pairs, whatever the missing scores are")
    return "\n".join(said + ([TEST_WORLD] if any(row.test_world for row in rows) else []))


def _panel(axes: Axes, rows: Sequence[AccuracyRow], names: Mapping[str, str], title: str) -> None:
    strip_spines(axes, "bottom")
    axes.set_title(title, fontsize=9, color=INK, loc="left", pad=6)
    axes.set(xlim=(-0.03, 1.03), ylim=(len(names) - 0.4, -0.6))
    axes.set_yticks(range(len(names)), [plain(label) for label in names.values()])
    share_ticks(axes, "x")
    axes.tick_params(axis="x", labelsize=7.5)
    axes.grid(axis="x", color=GRID, linewidth=0.7)
    _baselines(axes, rows)
    of: Mapping[str, AccuracyRow] = {row.solver: row for row in rows if row.reader == HEADLINE}
    for place, name in enumerate(names):
        if name in of:
            _line(axes, place, of[name])


def _baselines(axes: Axes, rows: Sequence[AccuracyRow]) -> None:
    """What always saying the commonest counterfactual answer would score."""
    for row in rows:
        if row.solver == "majority" and row.counterfactual is not None:
            axes.axvline(row.counterfactual, color=_BASELINE, linewidth=1, linestyle=(0, (4, 3)), zorder=1)


def _line(axes: Axes, place: int, row: AccuracyRow) -> None:
    if row.counterfactual is None or (row.original is None and not row.alone):
        axes.text(0.0, place, f"none scored of {row.n}", color=MUTED, fontsize=7.5, va="center")
        return
    if row.original is not None:
        axes.plot([row.original, row.counterfactual], [place, place], color=MUTED, linewidth=1.6, alpha=0.6, zorder=2)
    for side, color, shift in zip(SIDES, (_ORIGINAL, _CHANGED), (-0.16, 0.16), strict=True):
        if could_be := range_of(row, side):
            axes.plot(could_be, [place + shift] * 2, color=color, linewidth=5, alpha=0.2, zorder=1.5, clip_on=False)
        value, low, high, paper = (getattr(row, name) for name in (side, f"{side}_lo", f"{side}_hi", f"paper_{side}"))
        if value is None:
            continue
        if low is not None:
            axes.plot([low, high], [place + shift] * 2, color=color, linewidth=1.4, alpha=0.55, zorder=2, clip_on=False)
        axes.plot(value, place, "o", color=color, markersize=6.5, zorder=4, clip_on=False)
        if paper is not None:
            axes.plot(paper, place + 2 * shift, "*", **_star(color))


def _star(color: str) -> dict[str, Any]:
    return {"color": color, "markersize": 8, "markeredgecolor": "white", "markeredgewidth": 0.6, "zorder": 5}


def _legend(figure: Figure, axes: Axes, rows: Sequence[AccuracyRow]) -> None:
    axes.plot([], [], "o", color=_ORIGINAL, markersize=6.5, label="original question")
    axes.plot([], [], "o", color=_CHANGED, markersize=6.5, label="counterfactual question")
    if any(row.solver == "majority" for row in rows):
        axes.plot(
            [], [], color=_BASELINE, linewidth=1, linestyle=(0, (4, 3)), label="always the commonest answer (cf.)"
        )
    if any(row.paper_original is not None for row in rows):
        axes.plot([], [], "*", **_star(MUTED), label="published")
    figure.legend(loc="outside upper center", ncols=4, handletextpad=0.5, columnspacing=1.4)
