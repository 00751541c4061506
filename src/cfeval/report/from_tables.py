"""What is made from a folder of tables (CSV): figures, and the headline figures that `dvc metrics` shows."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from cfeval.core.errors import InputError, nearest
from cfeval.core.extras import load
from cfeval.core.files import write_text
from cfeval.core.jsonl import read_csv
from cfeval.report.tables import Listed

TablesFolder = Annotated[Path, typer.Option("--tables", help="Folder of the study's tables (CSV).")]
Figures = Annotated[list[str], typer.Option("--figure", help="A figure to draw; once for each.")]
Metrics = Callable[[Mapping[str, Sequence[Any]]], Mapping[str, Any]]
"""Headline figures from the rows of tables, by the tables' names."""


class Drawing(NamedTuple):
    """How a figure comes about: full names, so that only a process that draws imports matplotlib."""

    draw: str
    """The function that draws it."""
    table: str
    """The table from whose rows."""


def table_file(study: str, name: str, folder: Path, ending: str = "csv") -> Path:
    """Where a table of a study lies."""
    return folder / f"{study}_{name}.{ending}"


def draw_figures(
    study: str,
    figures: Mapping[str, Drawing],
    tables: Mapping[str, Listed],
    names: Sequence[str],
    folder: Path,
    out: Path,
) -> None:
    """Draw figures of a study into a folder, each from the table that it shows; InputError for an unknown one."""
    if unknown := [name for name in names if name not in figures]:
        raise InputError(f"unknown figure '{unknown[0]}'; {nearest(unknown[0], figures)}")
    from cfeval.report.figures import save  # matplotlib is slow to load, and tables need none of it

    for name in names:
        figure = figures[name]
        rows = read_csv(table_file(study, figure.table, folder), tables[figure.table].row())
        save(load(figure.draw)(rows), out / f"{study}_{name}")


def write_metrics(
    study: str, listed: Mapping[str, Listed], names: Sequence[str], metrics: Metrics, folder: Path, file: str
) -> None:
    """Write the headline figures of some tables of a folder as JSON beside them."""
    rows = {name: read_csv(table_file(study, name, folder), listed[name].row()) for name in names}
    write_text(folder / file, json.dumps(metrics(rows), indent=2, sort_keys=True) + "\n")
