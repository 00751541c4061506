"""Which numbers are right answers, in the two numerical groups (C-VQA, Figure 3)."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from cfeval.cvqa.tables.question_statistics import AnswersRow
from cfeval.report.colors import COLORS, GRID, INK, MUTED
from cfeval.report.figures import empty_figure, plain, strip_spines, use_style

_GROUPS = ("direct", "indirect")
_SIDES = {"original": "Original questions", "counterfactual": "Counterfactual questions"}
_LAST = 10
"""Numbers from here on share a bar."""
_BAR = 0.38
_NAMES = {"direct": "numerical, direct", "indirect": "numerical, indirect"}
EMPTY = "No set has questions with numbers for answers."


def draw(rows: Sequence[AnswersRow]) -> Figure:
    """A line of panels a set, one panel a side, a bar a number and group; without numbers, a sentence."""
    use_style()
    numbers = [row for row in rows if row.type in _GROUPS]
    sets = list(dict.fromkeys(row.set for row in numbers))
    if not sets:
        return empty_figure(Figure(figsize=(5.8, 2.2), layout="constrained"), EMPTY)
    figure = Figure(figsize=(8.4, 0.9 + 2.25 * len(sets)), layout="constrained")
    grid = figure.subplots(len(sets), 2, sharex=True, sharey="row", squeeze=False)
    for name, line in zip(sets, grid, strict=True):
        for side, axes in zip(_SIDES, line, strict=True):
            here = [row for row in numbers if (row.set, row.side) == (name, side)]
            title = f"{name}: {_SIDES[side].lower()}" if len(sets) > 1 and side == "original" else _SIDES[side]
            _panel(axes, here, plain(title))
    for axes in grid[:, 0]:
        axes.set_ylabel("share of the group", color=MUTED, fontsize=8)
    figure.supxlabel("right answer", fontsize=9)
    _legend(figure, numbers)
    return figure


def _panel(axes: Axes, rows: Sequence[AnswersRow], title: str) -> None:
    strip_spines(axes, "bottom")
    axes.grid(axis="y", color=GRID, linewidth=0.7)
    axes.set_title(title, fontsize=9, color=INK, loc="left", pad=6)
    ticks = range(_LAST + 1)
    axes.set_xticks(ticks, [*map(str, range(_LAST)), f"{_LAST}+"])
    axes.set_xlim(-0.6, _LAST + 0.6)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.tick_params(axis="y", labelsize=7.5, labelcolor=MUTED)
    for place, group in enumerate(_GROUPS):
        shares = _shares([row for row in rows if row.type == group])
        shift = (place - 0.5) * _BAR
        axes.bar([n + shift for n in ticks], shares, width=_BAR * 0.92, color=COLORS[place], linewidth=0, zorder=2)


def _shares(rows: Sequence[AnswersRow]) -> list[float]:
    """The share of each number from 0 on, the last of all that are greater too."""
    shares = [0.0] * (_LAST + 1)
    for row in rows:
        shares[min(int(row.answer), _LAST)] += row.share
    return shares


def _legend(figure: Figure, rows: Sequence[AnswersRow]) -> None:
    there = {row.type for row in rows}
    marks = [Patch(color=COLORS[place], label=_NAMES[of]) for place, of in enumerate(_GROUPS) if of in there]
    figure.legend(handles=marks, loc="outside upper center", ncols=2, handlelength=1.2, columnspacing=1.8)
