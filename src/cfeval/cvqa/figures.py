"""The figures of cvqa: right answers (C-VQA, Figure 3), accuracy (Tables 3 and 7), women and men (Figure 5)."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.patches import Patch

from cfeval.cvqa.records import HEADLINE, SIDES
from cfeval.cvqa.tables.accuracy import TABLE3_EMPTY, TABLE7_EMPTY, AccuracyRow
from cfeval.cvqa.tables.comparisons import BIAS_EMPTY, BiasRow
from cfeval.cvqa.tables.items import mark, range_of
from cfeval.cvqa.tables.sets import AnswersRow
from cfeval.report.bars import COLORS, GRID, INK, MUTED
from cfeval.report.figures import (
    TEST_WORLD,
    SteadyLayout,
    empty_figure,
    intervals_line,
    plain,
    share_ticks,
    strip_spines,
    use_style,
)
from cfeval.report.tables import limits

_ORIGINAL, _CHANGED, _BASELINE = COLORS[0], COLORS[1], COLORS[2]
_ROW_INCHES, _TITLE_INCHES, _FRAME_INCHES, _PANEL_INCHES, _LABEL_INCHES = 0.38, 0.5, 1.0, 2.1, 1.4
_ACROSS = 4  # panels beside each other
_DASHED = {"color": _BASELINE, "linewidth": 1, "linestyle": (0, (4, 3))}
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


def _panel_title(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=9, color=INK, loc="left", pad=6)


def draw_accuracy(
    rows: Sequence[AccuracyRow],
    empty: str = TABLE3_EMPTY,
    layout: Literal["constrained"] | LayoutEngine = "constrained",
) -> Figure:
    """How accuracy moves from original to counterfactual questions: a panel a type, a line a solver, as the robust
    reader reads the replies; without any, a sentence.
    """
    use_style()
    shown = [row for row in rows if row.reader == HEADLINE]
    if not shown:
        return empty_figure(Figure(figsize=(5.8, 2.2), layout="constrained"), empty)
    # By set what its solvers are called; and its panels by type, at most so many a line.
    names = {one.set: {row.solver: mark(row) for row in shown if row.set == one.set} for one in shown}
    types = {name: list(dict.fromkeys(row.type for row in shown if row.set == name)) for name in names}
    lines = [(name, of[i : i + _ACROSS]) for name, of in types.items() for i in range(0, len(of), _ACROSS)]
    across = max(len(some) for _, some in lines)
    heights = [len(names[name]) * _ROW_INCHES + _TITLE_INCHES for name, _ in lines]
    size = (_LABEL_INCHES + _PANEL_INCHES * max(across, 2), sum(heights) + _FRAME_INCHES)
    figure = Figure(figsize=size, layout=layout)
    grid = figure.subplots(len(lines), across, squeeze=False, sharey="row", gridspec_kw={"height_ratios": heights})
    for (name, some), line in zip(lines, grid, strict=True):
        for axes in line[len(some) :]:
            axes.set_visible(False)
        for kind, axes in zip(some, line, strict=False):
            here = [row for row in rows if (row.set, row.type) == (name, kind)]
            title = TITLES.get(kind, kind.replace("_", " "))
            first = len(names) > 1 and axes is line[0]  # side by side they would run into the next one
            _accuracy_panel(axes, here, names[name], plain(f"{name}:\n{title}" if first else title))
    _accuracy_legend(figure, grid.flat[0], rows)
    said = ["Accuracy, as the robust reader reads the replies", intervals_line(shown)]
    if any(row.alone for row in shown):
        said.append("one dot: the counterfactual question alone was asked")
    if any(range_of(row, side) for row in shown for side in SIDES):
        said.append("pale bars: over all pairs, whatever the missing scores are")
    said += [TEST_WORLD] if any(row.test_world for row in shown) else []
    figure.supxlabel("\n".join(said), fontsize=8.5)
    return figure


def draw_puzzles(rows: Sequence[AccuracyRow]) -> Figure:
    """The same of synthetic puzzles; of several templates also all together."""
    return draw_accuracy(rows, TABLE7_EMPTY, SteadyLayout())


def _accuracy_panel(axes: Axes, rows: Sequence[AccuracyRow], names: Mapping[str, str], title: str) -> None:
    strip_spines(axes, "bottom")
    _panel_title(axes, title)
    axes.set(xlim=(-0.03, 1.03), ylim=(len(names) - 0.4, -0.6))
    axes.set_yticks(range(len(names)), [plain(label) for label in names.values()])
    share_ticks(axes, "x")
    axes.tick_params(axis="x", labelsize=7.5)
    axes.grid(axis="x", color=GRID, linewidth=0.7)
    for row in rows:  # what always saying the commonest counterfactual answer would score
        if row.solver == "majority" and row.counterfactual is not None:
            axes.axvline(row.counterfactual, zorder=1, **_DASHED)  # type: ignore[arg-type]
    by_solver = {row.solver: row for row in rows if row.reader == HEADLINE}
    for place, name in enumerate(names):
        if name in by_solver:
            _accuracy_line(axes, place, by_solver[name])


def _accuracy_line(axes: Axes, place: int, row: AccuracyRow) -> None:
    if row.counterfactual is None or (row.original is None and not row.alone):
        axes.text(0.0, place, f"none scored of {row.n}", color=MUTED, fontsize=7.5, va="center")
        return
    if row.original is not None:
        axes.plot([row.original, row.counterfactual], [place, place], color=MUTED, linewidth=1.6, alpha=0.6, zorder=2)
    for side, color, shift in zip(SIDES, (_ORIGINAL, _CHANGED), (-0.16, 0.16), strict=True):
        if could_be := range_of(row, side):
            axes.plot(could_be, [place + shift] * 2, color=color, linewidth=5, alpha=0.2, zorder=1.5, clip_on=False)
        value, (low, high), paper = getattr(row, side), limits(row, side), getattr(row, f"paper_{side}")
        if value is None:
            continue
        if low is not None and high is not None:
            axes.plot([low, high], [place + shift] * 2, color=color, linewidth=1.4, alpha=0.55, zorder=2, clip_on=False)
        axes.plot(value, place, "o", color=color, markersize=6.5, zorder=4, clip_on=False)
        if paper is not None:
            axes.plot(paper, place + 2 * shift, "*", **_star(color))


def _star(color: str) -> dict[str, Any]:
    return {"color": color, "markersize": 8, "markeredgecolor": "white", "markeredgewidth": 0.6, "zorder": 5}


def _accuracy_legend(figure: Figure, axes: Axes, rows: Sequence[AccuracyRow]) -> None:
    axes.plot([], [], "o", color=_ORIGINAL, markersize=6.5, label="original question")
    axes.plot([], [], "o", color=_CHANGED, markersize=6.5, label="counterfactual question")
    if any(row.solver == "majority" for row in rows):
        axes.plot([], [], label="always the commonest answer (cf.)", **_DASHED)  # type: ignore[arg-type]
    if any(row.paper_original is not None for row in rows):
        axes.plot([], [], "*", **_star(MUTED), label="published")
    figure.legend(loc="outside upper center", ncols=4, handletextpad=0.5, columnspacing=1.4)


_GROUPS = {"direct": "numerical, direct", "indirect": "numerical, indirect"}
_LAST = 10  # numbers from here on share a bar
_BAR = 0.38


def draw_answers(rows: Sequence[AnswersRow]) -> Figure:
    """Which numbers are right answers in the two numerical groups: a line of panels a set, one panel a side, a bar a
    number and group; without numbers, a sentence.
    """
    use_style()
    numbers = [row for row in rows if row.type in _GROUPS]
    sets = list(dict.fromkeys(row.set for row in numbers))
    if not sets:
        empty = "No set has questions with numbers for answers."
        return empty_figure(Figure(figsize=(5.8, 2.2), layout="constrained"), empty)
    figure = Figure(figsize=(8.4, 0.9 + 2.25 * len(sets)), layout="constrained")
    grid = figure.subplots(len(sets), 2, sharex=True, sharey="row", squeeze=False)
    for name, line in zip(sets, grid, strict=True):
        for side, axes in zip(SIDES, line, strict=True):
            title = (
                f"{name}: {side} questions"
                if len(sets) > 1 and side == "original"
                else f"{side} questions".capitalize()
            )
            _answers_panel(axes, [row for row in numbers if (row.set, row.side) == (name, side)], plain(title))
    for axes in grid[:, 0]:
        axes.set_ylabel("share of the group", color=MUTED, fontsize=8)
    figure.supxlabel("right answer", fontsize=9)
    present = {row.type for row in numbers}
    patches = [Patch(color=COLORS[i], label=_GROUPS[group]) for i, group in enumerate(_GROUPS) if group in present]
    figure.legend(handles=patches, loc="outside upper center", ncols=2, handlelength=1.2, columnspacing=1.8)
    return figure


def _answers_panel(axes: Axes, rows: Sequence[AnswersRow], title: str) -> None:
    strip_spines(axes, "bottom")
    axes.grid(axis="y", color=GRID, linewidth=0.7)
    _panel_title(axes, title)
    ticks = range(_LAST + 1)
    axes.set_xticks(ticks, [*map(str, range(_LAST)), f"{_LAST}+"])
    axes.set_xlim(-0.6, _LAST + 0.6)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.tick_params(axis="y", labelsize=7.5, labelcolor=MUTED)
    for place, group in enumerate(_GROUPS):
        shares = [0.0] * (_LAST + 1)
        for row in rows:
            if row.type == group:
                shares[min(int(row.answer), _LAST)] += row.share
        shift = (place - 0.5) * _BAR
        axes.bar([n + shift for n in ticks], shares, width=_BAR * 0.92, color=COLORS[place], linewidth=0, zorder=2)


_FEMALE, _MALE, _GAP = COLORS[3], COLORS[0], INK


def draw_bias(rows: Sequence[BiasRow]) -> Figure:
    """How much accuracy a counterfactual costs on images of women and of men, all types together: a line a solver, as
    the robust reader reads the replies; without any, a sentence.
    """
    use_style()
    shown = [row for row in rows if row.reader == HEADLINE and row.type == "all"]
    figure = Figure(figsize=(8.4, 1.5 + 0.42 * max(2, len(shown))), layout="constrained")
    if not shown:
        return empty_figure(figure, BIAS_EMPTY)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.35, 1))
    _bias_frame(left, shown, "Accuracy lost: original − counterfactual")
    _bias_frame(right, shown, "Gap: diff(female) − diff(male)")
    for place, row in enumerate(shown):
        if row.diff_female is not None and row.diff_male is not None:
            left.plot([row.diff_female, row.diff_male], [place] * 2, color=MUTED, linewidth=1.6, alpha=0.6, zorder=2)
        for name, color, shift in (("diff_female", _FEMALE, -0.15), ("diff_male", _MALE, 0.15)):
            value, (low, high) = getattr(row, name), limits(row, name)
            if value is None:
                continue
            _range(left, row, name, place + shift, color)
            if low is not None and high is not None:
                left.plot([low, high], [place + shift] * 2, color=color, linewidth=1.4, alpha=0.55, zorder=2)
            left.plot(value, place, "o", color=color, markersize=6.5, zorder=4)
        _gap(right, place, row)
    _explain(right)
    left.plot([], [], "o", color=_FEMALE, markersize=6.5, label="images of women")
    left.plot([], [], "o", color=_MALE, markersize=6.5, label="images of men")
    figure.legend(loc="outside upper center", ncols=2, handletextpad=0.5, columnspacing=1.6)
    female, male = (
        (f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else str(counts[0]))
        for counts in zip(*((row.images_female, row.images_male) for row in shown), strict=True)
    )
    notes = [f"images of women {female}, of men {male}; {intervals_line(shown)}"]
    notes += [TEST_WORLD] if any(row.test_world for row in shown) else []
    figure.supxlabel("\n".join(notes), fontsize=8.5)
    return figure


def _bias_frame(axes: Axes, rows: Sequence[BiasRow], title: str) -> None:
    several = len({row.set for row in rows}) > 1
    names = [f"{row.set} · {mark(row)}" if several else mark(row) for row in rows]
    strip_spines(axes, "bottom")
    _panel_title(axes, title)
    axes.set_yticks(range(len(rows)), list(map(plain, names)))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x", color=GRID, linewidth=0.7)
    axes.axvline(0, color=MUTED, linewidth=0.9, zorder=1)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:+.2f}".replace("+0.00", "0").replace("-", "−"))
    axes.tick_params(axis="x", labelsize=7.5)


def _gap(axes: Axes, place: int, row: BiasRow) -> None:
    if row.gap is None:
        axes.text(0, place, " no images of either", color=MUTED, fontsize=7.5, va="center")
        return
    low, high = limits(row, "gap")
    _range(axes, row, "gap", place, _GAP)
    if low is not None and high is not None:
        axes.plot([low, high], [place] * 2, color=_GAP, linewidth=1.8, zorder=3)
    axes.plot(row.gap, place, "D", color=_GAP, markersize=5, zorder=4)


def _range(axes: Axes, row: BiasRow, name: str, place: float, color: str) -> None:
    """A pale bar over what a figure could be, whatever the missing scores were."""
    if ends := range_of(row, name):
        axes.plot(ends, [place] * 2, color=color, linewidth=5, alpha=0.2, zorder=1.5)


def _explain(axes: Axes) -> None:
    """What either side of 0 means."""
    low, high = axes.get_xlim()
    reach = max(abs(low), abs(high), 0.05)
    axes.set_xlim(-reach, reach)
    look = {"transform": axes.get_xaxis_transform(), "fontsize": 7.5, "color": MUTED, "style": "italic", "va": "bottom"}
    axes.text(-reach, 0.0, " men lose more", ha="left", **look)  # type: ignore[arg-type]
    axes.text(reach, 0.0, "women lose more ", ha="right", **look)  # type: ignore[arg-type]
