"""Gather the headline figures of the tables for `dvc metrics`."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.of_tables import write_metrics
from cfeval.cli.output import writable
from cfeval.tables.metrics import metrics
from cfeval.tables.names_edct import TABLES


def run(
    tables: Annotated[list[Path], typer.Argument(help="Tables (CSV) under their own names: edct_table1.csv, ….")],
    out: Annotated[Path, typer.Option("--out", callback=writable, help="File to write (JSON).")],
) -> None:
    """Gather the headline figures of the tables for `dvc metrics`."""
    write_metrics("edct", TABLES, tables, metrics, out)
