"""Tables: what their columns are, how readers see their rows, and how they stand in text.

A column is a field of the record of a table's rows, and the CSV has the columns in their order. The field's docstring
says what the column means, its type how figures stand in it, and `Heading` what readers see of it; a field without one
stands in the CSV alone. Figures are plain numbers; an empty cell: there is no such figure.
"""

import ast
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from textwrap import dedent
from typing import Annotated, Any, Generic, NamedTuple, ParamSpec, TypeVar

from pydantic import Field

from cfeval.core.extras import load
from cfeval.core.records import Record
from cfeval.core.text_files import csv_line
from cfeval.stats.estimates import DECIMALS, Estimate
from cfeval.stats.intervals import rounded

P = ParamSpec("P")
R = TypeVar("R", bound=Record)
Figure = float | None
"""A plain number, or none."""
Figures = dict[str, object]
"""The fields of a row, as far as they are known."""
Cell = Callable[[Any], str]
"""What readers see of a row in one column."""
Column = tuple[str, Cell]
"""A column for readers: its heading and its cells."""
Lines = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
"""The headings of a table for readers, and its rows of cells."""
TEST_WORLD_NOTE = "† built-in test target with behaviour known by construction; it stands for no real model."


@dataclass(frozen=True)
class Limits:
    """The columns that follow a figure's own: each has its name and one of these endings."""

    endings: tuple[str, ...]


Estimated = Annotated[Figure, Limits(("_lo", "_hi"))]
"""A figure with its interval: the columns `m`, `m_lo` and `m_hi`."""
Bounded = Annotated[Figure, Limits(("_lo", "_hi", "_min", "_max"))]
"""Also `m_min` and `m_max`: what the figure would be if every missing score were at its worst or best."""
Methods = Annotated[str, Field(description="How the intervals were computed, and their nominal coverage.")]
"""The column `ci` of every table with intervals."""


@dataclass(frozen=True)
class Heading:
    """What readers see of a column, in Markdown, LaTeX and the report.

    Attributes:
        text: what stands over it.
        cell: its cell, made of the row; None: the value, an estimate with its interval.
        after: the field behind whose column it stands, where that is not the one before it in the CSV.
        optional: whether it is left out where no row has a value.
    """

    text: str
    cell: Cell | None = None
    after: str = ""
    optional: bool = False


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


@dataclass(frozen=True)
class RenderedTable:
    """A table for readers: title, headings, rows of cells, notes below."""

    name: str
    title: str
    headings: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table(Generic[P, R]):
    """A table of a study: the record of its rows, what makes them, and what shows them to readers."""

    row: type[R]
    rows: Callable[P, list[R]]
    render: Callable[[Sequence[R]], RenderedTable]


def table(
    name: str,
    title: str,
    row: type[R],
    rows: Callable[P, list[R]],
    notes: Callable[[Sequence[R]], Iterable[str]],
    empty: str,
    without: Callable[[Sequence[R]], Collection[str]] = lambda _: (),
    shown: Callable[[Sequence[R]], Sequence[R]] = list,
    added: Callable[[Sequence[R]], Mapping[str, Sequence[Column]]] = lambda _: {},
    lines: Callable[[Sequence[R]], Lines] | None = None,
) -> Table[P, R]:
    """A table whose readers see the columns that its rows declare.

    Args:
        name: of its files.
        title: what stands above it.
        row: the record of its rows.
        rows: makes them.
        notes: what stands below some rows; empty texts are left out.
        empty: what stands below a table without a row.
        without: fields whose columns are left out.
        shown: the rows that readers see.
        added: further columns of these, see `laid_out`.
        lines: headings and cells, where readers do not see a line a row; None: as `laid_out` has them.
    """

    def render(of: Sequence[R]) -> RenderedTable:
        seen = shown(of)
        headings, body = lines(seen) if lines else laid_out(row, seen, added(seen), without(of))
        return RenderedTable(name, title, headings, body, tuple(filter(None, notes(of))) if of else (empty,))

    return Table(row, rows, render)


class Listed(NamedTuple):
    """Where a table of a study is: its full name, so that only the code of the one that is asked for is imported."""

    table: str
    """Its `Table`."""
    made_of: str = "scores"
    """The stage whose records it is made of."""

    def load(self) -> Table[..., Any]:
        """The table."""
        found: Table[..., Any] = load(self.table)
        return found

    def row(self) -> type[Record]:
        """The record of its rows."""
        return self.load().row


class Drawing(NamedTuple):
    """How a figure comes about: full names, so that only a process that draws imports matplotlib."""

    draw: str
    """The function that draws it."""
    table: str
    """The table from whose rows."""


def laid_out(
    kind: type[Record],
    rows: Sequence[Record],
    added: Mapping[str, Sequence[Column]] | None = None,
    without: Collection[str] = (),
) -> Lines:
    """The headings of a table for readers, and its rows of cells.

    Args:
        kind: the record of the rows.
        rows: those that readers see.
        added: columns that no field declares, by the field behind which they stand; '': in front.
        without: fields whose columns are left out.
    """
    more, headings = added or {}, headings_of(kind)
    columns = list(more.get("", ()))
    for name in readers_order(kind):
        heading = headings[name]
        empty = heading.optional and all(getattr(row, name) in (None, "") for row in rows)
        if name not in without and not empty:
            columns.append((heading.text, heading.cell or partial(_value, kind, name)))
        columns += more.get(name, ())
    return tuple(text for text, _ in columns), tuple(tuple(shown(row) for _, shown in columns) for row in rows)


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
    limits = set(chain.from_iterable(declared.values()))
    return {name: (name, *own) for name, own in declared.items() if name not in limits}


def limits(row: Record, name: str) -> tuple[Figure, Figure]:
    """The interval of an estimate: `m_lo` and `m_hi`."""
    return getattr(row, f"{name}_lo"), getattr(row, f"{name}_hi")


def meanings(kind: type[Record]) -> dict[str, str]:
    """What the fields of a record mean, as their types or the docstrings below them say."""
    texts = {name: field.description for name, field in kind.model_fields.items() if field.description}
    for base in reversed(kind.__mro__):
        if issubclass(base, Record):
            [tree] = ast.parse(dedent(inspect.getsource(base))).body
            for field, text in pairwise(getattr(tree, "body", ())):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    texts[ast.unparse(field.target)] = inspect.cleandoc(ast.literal_eval(text.value))
    return texts


def _limits(name: str, marks: Sequence[object]) -> tuple[str, ...]:
    return tuple(name + ending for mark in marks if isinstance(mark, Limits) for ending in mark.endings)


def _value(kind: type[Record], name: str, row: Record) -> str:
    """A cell as its type says: an estimate with its interval."""
    estimated = any(isinstance(mark, Limits) for mark in kind.model_fields[name].metadata)
    return with_interval(row, name) if estimated else cell(getattr(row, name))


def varying(rows: Sequence[object], names: Sequence[str], always: Sequence[str] = ("vlm",)) -> list[str]:
    """The names by which rows differ, and `always`."""
    return [name for name in names if name in always or len({getattr(row, name) for row in rows}) > 1]


def cell(value: Any) -> str:
    """A value as a table shows it."""
    if value is None:
        return ""
    return f"{value + 0.0:.{DECIMALS}f}" if isinstance(value, float) else str(value)


def p_cell(value: float | None) -> str:
    """A p-value is never 0, however small it is rounded."""
    return "< 0.0001" if value == 0 else cell(value)


def scored_cell(row: Any) -> str:
    """`12 of 13`: the items of a row that have a score, and all of them."""
    return f"{row.n_scored} of {row.n}"


def with_interval(row: object, metric: str) -> str:
    """`0.9400 [0.9150, 0.9625]`, or nothing where there is no figure."""
    value, low, high = (getattr(row, metric + end) for end in ("", "_lo", "_hi"))
    if value is None:
        return ""
    return cell(value) if low is None else f"{cell(value)} [{cell(low)}, {cell(high)}]"


def or_bounds(metric: str) -> Cell:
    """The cell of a figure with its interval or, where there is no figure, with its bounds: `0.2500 to 1.0000`."""

    def shown(row: Any) -> str:
        least, most = (getattr(row, metric + end) for end in ("_min", "_max"))
        if getattr(row, metric) is not None or least is None:
            return with_interval(row, metric)
        return f"not known, {cell(least)} to {cell(most)}"

    return shown


def estimate_fields(name: str, estimate: Estimate) -> Figures:
    """`name`, `name_lo` and `name_hi`, rounded."""
    values = {name: estimate.value, f"{name}_lo": estimate.low, f"{name}_hi": estimate.high}
    return {field: rounded(value) for field, value in values.items()}


def figures_of(estimates: Mapping[str, Estimate]) -> Figures:
    """`name`, `name_lo` and `name_hi` of each, rounded; and `ci`, how the intervals were computed, each way once."""
    figures: Figures = {"ci": interval_methods(*(estimate.method for estimate in estimates.values()))}
    for name, estimate in estimates.items():
        figures |= estimate_fields(name, estimate)
    return figures


def interval_methods(*methods: object) -> str:
    """Methods of intervals, each once: `percentile bootstrap 95 %; Wilson bound 95 %`."""
    return "; ".join(dict.fromkeys(way for method in methods for way in str(method).split("; ") if way))


def intervals(rows: Sequence[Any]) -> str:
    """How the intervals of some rows were computed, each way once: `Intervals: percentile bootstrap 95 %. `."""
    used = interval_methods(*(row.ci for row in rows))
    return f"Intervals: {used}. " if used else ""


def world_note(rows: Sequence[Any]) -> tuple[str, ...]:
    """What the mark means, where some row has it."""
    return (TEST_WORLD_NOTE,) if any(row.test_world for row in rows) else ()


def csv_text(kind: type[Record], rows: Iterable[Record]) -> str:
    """RFC 4180 with LF, a column a field; figures with 4 decimals, None an empty cell."""
    cells = ([cell(value) for value in row.model_dump(mode="json").values()] for row in rows)
    return "".join(map(csv_line, chain([kind.model_fields], cells)))


def markdown(rendered: RenderedTable) -> str:
    """A GitHub table."""
    rows = (rendered.headings, ["---"] * len(rendered.headings), *rendered.body)
    lines = ["| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in rows]
    notes = [line for note in rendered.notes for line in ("", note)]
    return "\n".join([f"### {rendered.title}", "", *lines, *notes]) + "\n"
