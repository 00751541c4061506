"""Women and men: how much accuracy a counterfactual costs on images of either (C-VQA, Figure 5)."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfeval.cvqa.records import HEADLINE
from cfeval.cvqa.tables.bias import EMPTY, BiasRow
from cfeval.cvqa.tables.cells import range_of
from cfeval.report.colors import COLORS, GRID, INK, MUTED
from cfeval.report.columns import limits
from cfeval.report.figures import TEST_WORLD, empty_figure, plain, strip_spines, use_style
from cfeval.report.tables import interval_methods

_FEMALE, _MALE, _GAP = COLORS[3], COLORS[0], INK
_ROW_INCHES, _FRAME_INCHES = 0.42, 1.5


def draw(rows: Sequence[BiasRow]) -> Figure:
    """All types together, a line a solver, as the robust reader reads the replies; without any, a sentence."""
    use_style()
    shown = [row for row in rows if row.reader == HEADLINE and row.type == "all"]
    figure = Figure(figsize=(8.4, _FRAME_INCHES + _ROW_INCHES * max(2, len(shown))), layout="constrained")
    if not shown:
        return empty_figure(figure, EMPTY)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.35, 1))
    _frame(left, shown, "Accuracy lost: original − counterfactual")
    _frame(right, shown, "Gap: diff(female) − diff(male)")
    for place, row in enumerate(shown):
        _sides(left, place, row)
        _gap(right, place, row)
    _explain(right)
    _legend(figure, left)
    figure.supxlabel(_below(shown), fontsize=8.5)
    return figure


def _frame(axes: Axes, rows: Sequence[BiasRow], title: str) -> None:
    several = len({row.set for row in rows}) > 1
    names = [f"{row.set} · {row.solver}" if several else row.solver for row in rows]
    strip_spines(axes, "bottom")
    axes.set_title(title, fontsize=9, color=INK, loc="left", pad=6)
    axes.set_yticks(
        range(len(rows)), [plain(f"{n} †" if r.test_world else n) for n, r in zip(names, rows, strict=True)]
    )
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x", color=GRID, linewidth=0.7)
    axes.axvline(0, color=MUTED, linewidth=0.9, zorder=1)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:+.2f}".replace("+0.00", "0").replace("-", "−"))
    axes.tick_params(axis="x", labelsize=7.5)


def _sides(axes: Axes, place: int, row: BiasRow) -> None:
    if row.diff_female is not None and row.diff_male is not None:
        axes.plot([row.diff_female, row.diff_male], [place] * 2, color=MUTED, linewidth=1.6, alpha=0.6, zorder=2)
    for name, color, shift in (("female", _FEMALE, -0.15), ("male", _MALE, 0.15)):
        value, (low, high) = getattr(row, f"diff_{name}"), limits(row, f"diff_{name}")
        if value is None:
            continue
        _range(axes, row, f"diff_{name}", place + shift, color)
        if low is not None and high is not None:
            axes.plot([low, high], [place + shift] * 2, color=color, linewidth=1.4, alpha=0.55, zorder=2)
        axes.plot(value, place, "o", color=color, markersize=6.5, zorder=4)


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


def _below(rows: Sequence[BiasRow]) -> str:
    images = {(row.images_female, row.images_male) for row in rows}
    said = [f"images of women {f}, of men {m}" for f, m in sorted(images)][:1]
    said += [f"intervals: {interval_methods(*(row.ci for row in rows)) or 'none'}"]
    return "\n".join(["; ".join(said), *([TEST_WORLD] if any(row.test_world for row in rows) else [])])


def _legend(figure: Figure, axes: Axes) -> None:
    axes.plot([], [], "o", color=_FEMALE, markersize=6.5, label="images of women")
    axes.plot([], [], "o", color=_MALE, markersize=6.5, label="images of men")
    figure.legend(loc="outside upper center", ncols=2, handletextpad=0.5, columnspacing=1.6)
