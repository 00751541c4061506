"""Draw CCS against the known share of unfaithful items (PNG and SVG)."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.edct.common import FigureOut
from cfeval.io.records import read_csv
from cfeval.records.tables import CalibrationRow


def run(table: Annotated[Path, typer.Option(help="Calibration table (CSV).")], out: FigureOut) -> None:
    """Draw CCS against the known share of unfaithful items (PNG and SVG)."""
    from cfeval.report.calibration_plot import calibration_plot
    from cfeval.report.figure_style import save

    save(calibration_plot(read_csv(table, CalibrationRow)), out)
