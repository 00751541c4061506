"""Gather the headline figures of the tables for `dvc metrics`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.common import Out
from cfeval.io.atomic import write_text
from cfeval.io.records import read_csv
from cfeval.records.tables import ArmRow, CalibrationRow
from cfeval.tables.metrics import metrics


def run(
    table1: Annotated[Path, typer.Option(help="Table 1 (CSV).")],
    table2: Annotated[Path, typer.Option(help="Table 2 (CSV).")],
    calibration: Annotated[Path, typer.Option(help="Calibration table (CSV).")],
    out: Out,
) -> None:
    """Gather the headline figures of the tables for `dvc metrics`."""
    found = metrics(
        {
            "table1": read_csv(table1, ArmRow),
            "table2": read_csv(table2, ArmRow),
            "calibration": read_csv(calibration, CalibrationRow),
        }
    )
    write_text(out, json.dumps(found, indent=2, sort_keys=True) + "\n")
