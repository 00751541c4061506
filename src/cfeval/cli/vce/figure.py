"""Draw one of the study's figures from the table that it shows (PNG and SVG)."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.output import FigureOut
from cfeval.errors import InputError, nearest
from cfeval.io.records import read_csv
from cfeval.report.figures import TABLE_OF

FIGURES = TABLE_OF["vce"]


def run(
    name: Annotated[str, typer.Argument(help=f"Which figure: {', '.join(FIGURES)}.")],
    table: Annotated[Path, typer.Option(help="The table that it shows (CSV).")],
    out: FigureOut,
) -> None:
    """Draw one of the study's figures from the table that it shows (PNG and SVG)."""
    if name not in FIGURES:
        raise InputError(f"unknown figure '{name}'; {nearest(name, FIGURES)}")
    from cfeval.report.figure_style import save

    row = import_module(f"cfeval.tables.vce_{FIGURES[name]}").ROW
    save(import_module(f"cfeval.report.figure_vce_{name}").draw(read_csv(table, row)), out)
