"""Tables as text: CSV with every column, Markdown and LaTeX as a reader wants them."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

from cfeval.names import load
from cfeval.records.common import Record
from cfeval.stats.estimate import DECIMALS

P = ParamSpec("P")
R = TypeVar("R", bound=Record)
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
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "→": r"$\rightarrow$",
}


@dataclass(frozen=True)
class Sheet:
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
    sheet: Callable[[Sequence[R]], Sheet]


class Listed(NamedTuple):
    """Where a table of a study is: full names, so that only the code of the one that is asked for is imported."""

    table: str
    """Its `Table`."""
    record: str
    """The record of its rows: all that a reader of its CSV needs, so that no figure rests on how rows are made."""

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


def markdown(sheet: Sheet) -> str:
    """A GitHub table."""
    lines = [f"### {sheet.title}", "", _pipes(sheet.headings), _pipes(["---"] * len(sheet.headings))]
    lines += [_pipes(row) for row in sheet.body]
    return "\n".join(lines + [line for note in sheet.notes for line in ("", note)]) + "\n"


def latex(sheet: Sheet) -> str:
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
