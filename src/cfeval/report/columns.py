"""Columns of tables, each declared once: by a field of the record of a table's rows.

The field's docstring says what the column means, its type how figures stand in it, and `Heading` what readers see of
it; a field without one stands in the CSV alone. The CSV has the columns in the order of the fields.
"""

import ast
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from textwrap import dedent
from typing import Annotated, Any

from cfeval.core.records import Record
from cfeval.report.tables import Figure, cell, with_interval


@dataclass(frozen=True)
class Limits:
    """The columns that follow a figure's own: each has its name and one of these endings."""

    endings: tuple[str, ...]


Estimated = Annotated[Figure, Limits(("_lo", "_hi"))]
"""A figure with its interval: the columns `m`, `m_lo` and `m_hi`."""
Bounded = Annotated[Figure, Limits(("_lo", "_hi", "_min", "_max"))]
"""Also `m_min` and `m_max`: what the figure would be if every missing score were at its worst or best."""
Cell = Callable[[Any], str]
"""What readers see of a row in one column."""
Column = tuple[str, Cell]
"""A column for readers: its heading and its cells."""


@dataclass(frozen=True)
class Heading:
    """What readers see of a column, in Markdown, LaTeX and the report."""

    text: str
    """What stands over it."""
    cell: Cell | None = None
    """Its cell, made of the row; None: the value, an estimate with its interval."""
    after: str = ""
    """The field behind whose column it stands, where that is not the one before it in the CSV."""
    optional: bool = False
    """Whether it is left out where no row has a value."""


class TableRow(Record):
    """A row of a table: a column a field, an estimate's limits behind it."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Add the fields that hold the limits of estimates."""
        super().__init_subclass__(**options)
        fields: dict[str, Any] = {}
        for name, kind in cls.__annotations__.items():
            fields[name] = kind
            for limit in _limits(name, getattr(kind, "__metadata__", ())):
                fields[limit] = Figure
                setattr(cls, limit, None)
        cls.__annotations__ = fields


def laid_out(
    kind: type[Record],
    rows: Sequence[Record],
    added: Mapping[str, Sequence[Column]] | None = None,
    without: Collection[str] = (),
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The headings of a table for readers, and its rows of cells.

    Args:
        kind: the record of the rows.
        rows: those that readers see.
        added: columns that no field declares, by the field behind which they stand; '': in front.
        without: fields whose columns are left out.
    """
    more, headings = added or {}, headings_of(kind)
    shown = list(more.get("", ()))
    for name in readers_order(kind):
        heading = headings[name]
        told = not heading.optional or any(getattr(row, name) not in (None, "") for row in rows)
        if told and name not in without:
            shown.append((heading.text, heading.cell or partial(_value, kind, name)))
        shown += more.get(name, ())
    return tuple(text for text, _ in shown), tuple(tuple(of(row) for _, of in shown) for row in rows)


def headings_of(kind: type[Record]) -> dict[str, Heading]:
    """The fields that readers see, and what they see of them, in the order of the CSV."""
    marks = ((name, mark) for name, field in kind.model_fields.items() for mark in field.metadata)
    return {name: mark for name, mark in marks if isinstance(mark, Heading)}


def readers_order(kind: type[Record]) -> list[str]:
    """The fields that readers see, in the order in which they see them."""
    headings = headings_of(kind)

    def behind(place: str) -> Iterator[str]:
        for name, heading in headings.items():
            if heading.after == place:
                yield name
                yield from behind(name)

    return list(behind(""))


def columns_of(kind: type[Record]) -> dict[str, tuple[str, ...]]:
    """The columns of the CSV by the field that declares them."""
    declared = {name: _limits(name, field.metadata) for name, field in kind.model_fields.items()}
    limits = {limit for of in declared.values() for limit in of}
    return {name: (name, *of) for name, of in declared.items() if name not in limits}


def limits(row: Record, name: str) -> tuple[Figure, Figure]:
    """The interval of an estimate: `m_lo` and `m_hi`."""
    return getattr(row, f"{name}_lo"), getattr(row, f"{name}_hi")


def meanings(kind: type[Record]) -> dict[str, str]:
    """What the fields of a record mean, as the docstrings below them say."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, Record):
            [tree] = ast.parse(dedent(inspect.getsource(base))).body
            for field, text in pairwise(getattr(tree, "body", ())):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    found[ast.unparse(field.target)] = inspect.cleandoc(ast.literal_eval(text.value))
    return found


def _limits(name: str, marks: Sequence[object]) -> tuple[str, ...]:
    """The columns behind a figure's own."""
    return tuple(name + ending for mark in marks if isinstance(mark, Limits) for ending in mark.endings)


def _value(kind: type[Record], name: str, row: Record) -> str:
    """A cell as its type says: an estimate with its interval."""
    estimated = any(isinstance(mark, Limits) for mark in kind.model_fields[name].metadata)
    return with_interval(row, name) if estimated else cell(getattr(row, name))
