"""Tables as text: CSV with every column, Markdown and LaTeX as a reader wants them.

Figures are plain numbers; an empty cell: there is no such figure.
"""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

from cfeval.core.files import write_text
from cfeval.core.names import load
from cfeval.core.records import Record
from cfeval.stats.estimates import DECIMALS, Estimate
from cfeval.stats.intervals import rounded

P = ParamSpec("P")
R = TypeVar("R", bound=Record)
Figure = float | None
"""A plain number, or none."""
Figures = dict[str, object]
"""The fields of a row, as far as they are known."""
TEST_WORLD_NOTE = "† built-in test target with behaviour known by construction; it stands for no real model."
NO_CONDITION_NOTE = "Empty: params.yaml names no condition for this table (edct.tables)."
_LATEX = {
    "\\": r"\textbackslash{}",
    **{char: "\\" + char for char in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "†": r"\dag{}",
    "·": r"$\cdot$",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "∩": r"$\cap$",
    "∪": r"$\cup$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "→": r"$\rightarrow$",
}


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
    sheet: Callable[[Sequence[R]], RenderedTable]


class Listed(NamedTuple):
    """Where a table of a study is: full names, so that only the code of the one that is asked for is imported."""

    table: str
    """Its `Table`."""
    record: str
    """The record of its rows: all that a reader of its CSV needs, so that no figure rests on how rows are made."""
    made_of: str = "scores"
    """The stage whose records it is made of."""

    def load(self) -> Table[..., Any]:
        """The table."""
        found: Table[..., Any] = load(self.table)
        return found

    def row(self) -> type[Record]:
        """The record of its rows."""
        found: type[Record] = load(self.record)
        return found


def varying(rows: Sequence[object], names: Sequence[str], always: Sequence[str] = ("vlm",)) -> list[str]:
    """Those of the names by which rows differ, and `always`."""
    return [name for name in names if name in always or len({getattr(row, name) for row in rows}) > 1]


def csv_text(kind: type[Record], rows: Iterable[Record]) -> str:
    """RFC 4180 with LF, a column a field; figures with 4 decimals, None an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(kind.model_fields)
    writer.writerows([cell(value) for value in row.model_dump(mode="json").values()] for row in rows)
    return text.getvalue()


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


def markdown(sheet: RenderedTable) -> str:
    """A GitHub table."""
    lines = [f"### {sheet.title}", "", _pipes(sheet.headings), _pipes(["---"] * len(sheet.headings))]
    lines += [_pipes(row) for row in sheet.body]
    return "\n".join(lines + [line for note in sheet.notes for line in ("", note)]) + "\n"


def latex(sheet: RenderedTable) -> str:
    """A `table` environment; the document needs the package booktabs."""
    notes = [rf"\par\smallskip\footnotesize {_escaped(' '.join(sheet.notes))}"] if sheet.notes else []
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(sheet.title)}}}",
        rf"\label{{tab:{sheet.name}}}",
        rf"\begin{{tabular}}{{{'l' * len(sheet.headings)}}}",
        r"\toprule",
        _row(sheet.headings),
        r"\midrule",
        *(_row(row) for row in sheet.body),
        r"\bottomrule",
        r"\end{tabular}",
        *notes,
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _pipes(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_piped(text) for text in cells)} |"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(_escaped, cells)) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in text)


def _piped(text: str) -> str:
    return text.replace("|", "\\|")


def figures_of(estimates: Mapping[str, Estimate]) -> Figures:
    """`name`, `name_lo` and `name_hi` of each, rounded; and `ci`, how the intervals were computed, each way once."""
    figures: Figures = {"ci": interval_methods(*(one.method for one in estimates.values()))}
    for name, one in estimates.items():
        figures |= {name: rounded(one.value), f"{name}_lo": rounded(one.low), f"{name}_hi": rounded(one.high)}
    return figures


def interval_methods(*methods: object) -> str:
    """Methods of intervals, each once: `percentile bootstrap 95 %; Wilson bound 95 %`."""
    return "; ".join(dict.fromkeys(way for method in methods for way in str(method).split("; ") if way))


def with_interval(row: object, metric: str) -> str:
    """`0.9400 [0.9150, 0.9625]`, or nothing where there is no figure."""
    value, low, high = (getattr(row, metric + end) for end in ("", "_lo", "_hi"))
    if value is None:
        return ""
    return cell(value) if low is None else f"{cell(value)} [{cell(low)}, {cell(high)}]"


def intervals(rows: Sequence[Any]) -> str:
    """How the intervals of some rows were computed, each way once: `Intervals: percentile bootstrap 95 %. `."""
    used = interval_methods(*(row.ci for row in rows))
    return f"Intervals: {used}. " if used else ""


def world_note(rows: Sequence[Any]) -> tuple[str, ...]:
    """What the mark means, where some row has it."""
    return (TEST_WORLD_NOTE,) if any(row.test_world for row in rows) else ()


def write_table(out: Path, kind: type[Record], rows: Iterable[Record], sheet: RenderedTable) -> None:
    """Write a table as CSV, Markdown and LaTeX."""
    write_text(Path(f"{out}.csv"), csv_text(kind, rows))
    write_text(Path(f"{out}.md"), markdown(sheet))
    write_text(Path(f"{out}.tex"), latex(sheet))
