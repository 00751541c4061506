"""Gather the headline figures of the tables for `dvc metrics`."""

import json
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.output import writable
from cfeval.errors import InputError
from cfeval.io.atomic import write_text
from cfeval.io.records import read_csv
from cfeval.records.common import Record
from cfeval.tables import NAMES
from cfeval.tables.vce_metrics import metrics

TABLES = NAMES["vce"]


def run(
    tables: Annotated[list[Path], typer.Argument(help="Tables (CSV) under their own names: vce_table3.csv, ….")],
    out: Annotated[Path, typer.Option("--out", callback=writable, help="File to write (JSON).")],
) -> None:
    """Gather the headline figures of the tables for `dvc metrics`."""
    found = {_name(path): read_csv(path, _row(_name(path))) for path in tables}
    write_text(out, json.dumps(metrics(found), indent=2, sort_keys=True) + "\n")


def _name(path: Path) -> str:
    """The table that a file holds, as its name says."""
    name = path.stem.removeprefix("vce_")
    if name not in TABLES:
        raise InputError(f"{path}: not the name of a table; allowed: {', '.join(f'vce_{n}.csv' for n in TABLES)}")
    return name


def _row(name: str) -> type[Record]:
    row: type[Record] = import_module(f"cfeval.tables.vce_{name}").ROW
    return row
