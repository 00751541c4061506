"""Given pairs: answer moved × changed thing named, phi with its interval, F-AUROC against words of the explanations.

An explanation that names more is right more often by chance, so that F-AUROC of two targets is to be compared where
their explanations are of like length (Siegel et al. 2025): the right panel shows both, each target by its number.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfeval.edct.pairs.table import NAMES, NO_PAIRS_NOTE, PairRow
from cfeval.report.colors import COLORS, GRID, INK, MUTED
from cfeval.report.columns import limits
from cfeval.report.figures import TEST_WORLD, empty_figure, plain, share_ticks, strip_spines, use_style
from cfeval.report.tables import interval_methods, varying

# Inches: the figure's width, the height of a line, and that of all else.
_WIDTH, _ROW, _REST = 11.6, 0.34, 1.6
# The cells of the 2 × 2 table. Blue: phi rises with it; orange: it falls.
_CELLS = {
    "moved_named": ("moved, named", COLORS[0], 1.0),
    "moved_unnamed": ("moved, not named", COLORS[1], 1.0),
    "unmoved_named": ("stayed, named", COLORS[1], 0.4),
    "unmoved_unnamed": ("stayed, not named", COLORS[0], 0.4),
}


def draw(rows: Sequence[PairRow]) -> Figure:
    """A line a condition over all kinds of change: the 2 × 2 table, then phi; on the right a point a condition.

    Natural pairs, of which only answers are told, have no line; without a line, a sentence says so.
    """
    use_style()
    shown = [row for row in rows if not row.kind and not row.natural]
    figure = Figure(figsize=(_WIDTH, _ROW * len(shown) + _REST), layout="constrained")
    if not shown:
        return empty_figure(figure, "Natural pairs alone: only answers are told." if rows else NO_PAIRS_NOTE)
    left, right, third = figure.subplots(1, 3, width_ratios=(1, 1, 0.9))
    right.sharey(left)
    right.tick_params(labelleft=False)
    for axes in (left, right):
        strip_spines(axes, "bottom")
    _lengths(third, shown)
    left.set_yticks(range(len(shown)), _labels(shown))
    left.set_ylim(len(shown) - 0.4, -0.6)
    for place, row in enumerate(shown):
        _counts(left, place, row)
        _phi(right, place, row)
    _frame(left, right)
    caption = f"intervals: {interval_methods(*(row.ci for row in shown)) or 'none'}"
    of_test = [TEST_WORLD] * any(row.test_world for row in shown)
    figure.supxlabel("\n".join([caption, *of_test]), fontsize=8)
    handles = dict(zip(*reversed(left.get_legend_handles_labels()), strict=True))
    handles |= dict(zip(*reversed(right.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=3, columnspacing=1.4)
    return figure


def _labels(rows: Sequence[PairRow]) -> list[str]:
    names = varying(rows, NAMES)
    return [
        f"{plain(' · '.join(f'{getattr(row, name)}{_sign(name, row)}' for name in names))}  {number}"
        for number, row in enumerate(rows, start=1)
    ]


def _sign(name: str, row: PairRow) -> str:
    return " †" if name == "vlm" and row.test_world else ""


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


def _frame(left: Axes, right: Axes) -> None:
    left.set_xlim(0, 1)
    share_ticks(left, "x")
    left.set_xlabel("share of scored pairs: the answer, the changed thing")
    right.set_xlim(-1.05, 1.05)
    right.set_xticks((-1, -0.5, 0, 0.5, 1), ("−1", "−.50", "0", ".50", "1"))
    right.grid(axis="x", color=GRID, linewidth=0.8)
    right.axvline(0, color=MUTED, linestyle=":", linewidth=1.2)
    right.set_xlabel("φ of (answer moved, changed thing named)")


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
