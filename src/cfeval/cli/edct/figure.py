"""Draw one of the study's figures from the table that it shows (PNG and SVG)."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.of_tables import draw_figure
from cfeval.cli.output import FigureOut
from cfeval.report.figures_edct import FIGURES
from cfeval.tables.names_edct import TABLES


def run(
    name: Annotated[str, typer.Argument(help=f"Which figure: {', '.join(FIGURES)}.")],
    table: Annotated[Path, typer.Option(help="The table that it shows (CSV).")],
    out: FigureOut,
) -> None:
    """Draw one of the study's figures from the table that it shows (PNG and SVG)."""
    draw_figure(FIGURES, TABLES, name, table, out)
