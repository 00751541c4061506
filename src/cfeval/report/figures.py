"""How all figures look, and how they are saved: the same data give the same bytes."""

from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from cfeval.core.files import write_bytes
from cfeval.report.bars import INK, MUTED, PAPER
from cfeval.report.tables import interval_methods

TEST_WORLD = "† built-in test target, stands for no real model"
_SETTINGS: dict[Any, object] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "cfeval",
    "pdf.fonttype": 42,  # publishers refuse Type 3
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": PAPER,
    "legend.frameon": False,
    "legend.fontsize": 8,
}
_PIXELS_PER_INCH = 200
_METADATA = {"png": ("Software",), "svg": ("Date", "Creator"), "pdf": ("CreationDate", "Creator", "Producer")}
"""What a figure is written as, and what matplotlib would say of its making, which differs from run to run."""
_QUARTERS = (0, 0.25, 0.5, 0.75, 1)
_DECIMALS = 12
"""Of the places of panels, in parts of the figure: far finer than is drawn."""


def use_style() -> None:
    """Draw off screen, in the project's colors."""
    matplotlib.use("Agg")
    matplotlib.rcParams.update(_SETTINGS)


def plain(name: str) -> str:
    """A name that matplotlib does not read as mathematics."""
    return name.replace("$", r"\$")


def strip_spines(axes: Axes, *keep: str) -> None:
    """Take away the frame but for the named sides, and lay the grid behind."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in keep)
    axes.tick_params(length=0)
    axes.set_axisbelow(True)


def share_ticks(axes: Axes, *along: str) -> None:
    """Quarters from 0 to 1 on the named axes, `x` or `y`."""
    for name in along:
        axes.set(**{f"{name}ticks": _QUARTERS, f"{name}ticklabels": ("0", ".25", ".50", ".75", "1")})


def intervals_line(rows: Sequence[Any]) -> str:
    """How the intervals of some rows were computed: `intervals: Wilson 95 %`."""
    return f"intervals: {interval_methods(*(row.ci for row in rows)) or 'none'}"


def empty_figure(figure: Figure, text: str) -> Figure:
    """A figure that has nothing to draw but a sentence that says why."""
    figure.text(0.5, 0.5, text, ha="center", va="center", color=MUTED)
    return figure


def legend_once(figure: Figure, panels: Iterable[Axes], **look: Any) -> None:
    """A legend above the panels that names what they share once."""
    handles: dict[str, Any] = {}
    for axes in panels:
        handles |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", **look)


class SteadyLayout(ConstrainedLayoutEngine):
    """Constrained layout whose SVG is the same in every run.

    Its solver adds up in the order of memory addresses, so that the last digits of where panels stand may change from
    run to run, and with them the ids of clip paths in SVG, which matplotlib makes of all digits.
    """

    def execute(self, fig: Figure) -> Any:
        """Lay a figure out, and round where its panels stand."""
        grids = super().execute(fig)
        for axes in fig.axes if isinstance(fig.canvas, FigureCanvasSVG) else ():
            left, bottom, width, height = (round(value, _DECIMALS) for value in axes.get_position().bounds)
            axes.set_position((left, bottom, width, height))
            axes.set_in_layout(True)  # matplotlib takes out what is placed by hand
        return grids


def save(figure: Figure, out: Path) -> None:
    """Write OUT.png, OUT.svg and OUT.pdf without date or program version."""
    for ending, absent in _METADATA.items():
        buffer = BytesIO()
        figure.savefig(buffer, format=ending, metadata=dict.fromkeys(absent), dpi=_PIXELS_PER_INCH)
        write_bytes(Path(f"{out}.{ending}"), buffer.getvalue())
