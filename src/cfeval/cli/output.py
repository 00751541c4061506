"""What the verbs of every study share that make tables and figures: their options, and a table in three formats."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from pydantic import TypeAdapter, ValidationError

from cfeval.errors import InputError
from cfeval.io.atomic import ensure_writable, write_text
from cfeval.records.common import Record
from cfeval.tables.formats import Sheet, csv_text, latex, markdown

T = TypeVar("T")


def writable(out: Path) -> Path:
    """Refuse an output that could not be written, before any work is spent on it (OutputError)."""
    ensure_writable(out)
    return out


TableOut = Annotated[
    Path, typer.Option("--out", callback=writable, help="Table to write, without ending: OUT.csv, OUT.md and OUT.tex.")
]
FigureOut = Annotated[
    Path, typer.Option("--out", callback=writable, help="Figure to write, without ending: OUT.png and OUT.svg.")
]


def from_json(text: str, kind: type[T], option: str) -> T:
    """An option's JSON, checked.

    Raises:
        InputError: not JSON, or not of that kind; one line naming the place.
    """
    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{option}: {place + ': ' if place else ''}{first['msg']}") from None


def write_table(out: Path, kind: type[Record], rows: Iterable[Record], sheet: Sheet) -> None:
    """Write a table as CSV, Markdown and LaTeX."""
    write_text(Path(f"{out}.csv"), csv_text(kind, rows))
    write_text(Path(f"{out}.md"), markdown(sheet))
    write_text(Path(f"{out}.tex"), latex(sheet))
