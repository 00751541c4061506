"""Draw one of the study's figures from the table that it shows (PNG and SVG)."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.edct.common import FigureOut
from cfeval.errors import InputError, nearest
from cfeval.io.records import read_csv
from cfeval.report.figures import NAMES, TABLE_OF


def run(
    name: Annotated[str, typer.Argument(help=f"Which figure: {', '.join(NAMES)}.")],
    table: Annotated[Path, typer.Option(help="The table that it shows (CSV).")],
    out: FigureOut,
) -> None:
    """Draw one of the study's figures from the table that it shows (PNG and SVG)."""
    if name not in NAMES:
        raise InputError(f"unknown figure '{name}'; {nearest(name, NAMES)}")
    from cfeval.report.figure_style import save

    row = import_module(f"cfeval.tables.edct_{TABLE_OF[name]}").ROW
    save(import_module(f"cfeval.report.figure_{name}").draw(read_csv(table, row)), out)
