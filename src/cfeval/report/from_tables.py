"""What is made from tables (CSV): figures, and the headline figures that `dvc metrics` shows."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cfeval.core.errors import InputError, nearest
from cfeval.core.files import write_text
from cfeval.core.jsonl import read_csv
from cfeval.core.names import load
from cfeval.report.tables import Listed

Metrics = Callable[[Mapping[str, Sequence[Any]]], Mapping[str, Any]]
"""Headline figures from the rows of tables, by the tables' names."""


class Drawing(NamedTuple):
    """How a figure comes about: full names, so that only a process that draws imports matplotlib."""

    draw: str
    """The function that draws it."""
    table: str
    """The table from whose rows."""


def draw_figure(
    figures: Mapping[str, Drawing], tables: Mapping[str, Listed], name: str, table: Path, out: Path
) -> None:
    """Draw a figure of a study from the table that it shows; InputError for an unknown one."""
    if name not in figures:
        raise InputError(f"unknown figure '{name}'; {nearest(name, figures)}")
    from cfeval.report.figures import save  # matplotlib is slow to load, and tables need none of it

    figure = figures[name]
    save(load(figure.draw)(read_csv(table, tables[figure.table].row())), out)


def write_metrics(
    study: str, listed: Mapping[str, Listed], tables: Sequence[Path], metrics: Metrics, out: Path
) -> None:
    """Write the headline figures of tables (CSV under their own names) as JSON."""
    found = {_name(study, listed, path): path for path in tables}
    rows = {name: read_csv(path, listed[name].row()) for name, path in found.items()}
    write_text(out, json.dumps(metrics(rows), indent=2, sort_keys=True) + "\n")


def _name(study: str, listed: Collection[str], path: Path) -> str:
    """The table that a file holds, as its name says."""
    name = path.stem.removeprefix(f"{study}_")
    if name not in listed:
        allowed = ", ".join(f"{study}_{n}.csv" for n in listed)
        raise InputError(f"{path}: not the name of a table; allowed: {allowed}")
    return name
