"""Draw the forest plot of Table 1: CCS with intervals, a line an arm (PNG and SVG)."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.edct.common import FigureOut
from cfeval.io.records import read_csv
from cfeval.records.tables import ArmRow


def run(table: Annotated[Path, typer.Option(help="Table 1 (CSV).")], out: FigureOut) -> None:
    """Draw the forest plot of Table 1: CCS with intervals, a line an arm (PNG and SVG)."""
    from cfeval.report.figure_style import save
    from cfeval.report.forest import forest

    save(forest(read_csv(table, ArmRow)), out)
