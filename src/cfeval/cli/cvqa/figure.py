"""Draw one of the study's figures from the table that it shows (PNG and SVG)."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.of_tables import draw_figure
from cfeval.cli.output import FigureOut
from cfeval.report.figures import DRAWINGS


def run(
    name: Annotated[str, typer.Argument(help=f"Which figure: {', '.join(DRAWINGS['cvqa'])}.")],
    table: Annotated[Path, typer.Option(help="The table that it shows (CSV).")],
    out: FigureOut,
) -> None:
    """Draw one of the study's figures from the table that it shows (PNG and SVG)."""
    draw_figure("cvqa", name, table, out)
