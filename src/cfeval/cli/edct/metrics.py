"""Gather the headline figures of the tables for `dvc metrics`."""

import json
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.cli.common import Out
from cfeval.errors import InputError
from cfeval.io.atomic import write_text
from cfeval.io.records import read_csv
from cfeval.tables import NAMES
from cfeval.tables.metrics import metrics

TABLES = NAMES["edct"]


def run(
    tables: Annotated[list[Path], typer.Argument(help="Tables (CSV) under their own names: edct_table1.csv, ….")],
    out: Out,
) -> None:
    """Gather the headline figures of the tables for `dvc metrics`."""
    found = metrics({_name(path): read_csv(path, _table(path).ROW) for path in tables})
    write_text(out, json.dumps(found, indent=2, sort_keys=True) + "\n")


def _name(path: Path) -> str:
    """The table that a file holds, as its name says."""
    name = path.stem.removeprefix("edct_")
    if name not in TABLES:
        raise InputError(f"{path}: not the name of a table; allowed: {', '.join(f'edct_{n}.csv' for n in TABLES)}")
    return name


def _table(path: Path) -> Any:
    return import_module(f"cfeval.tables.edct_{_name(path)}")
