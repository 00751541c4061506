"""Tables as text: CSV with every column, Markdown and LaTeX as a reader wants them.

Figures are plain numbers; an empty cell: there is no such figure.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

from cfeval.core.extras import load
from cfeval.core.files import write_text
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
TEST_WORLD_NOTE = "† built-in test target with behaviour known by construction; it stands for no real model."
NO_CONDITION_NOTE = "Empty: params.yaml names no condition for this table (edct.tables)."
_LATEX = {
    "\\": r"\textbackslash{}",
    **{char: "\\" + char for char in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
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
_NUMBER = re.compile(r"([-−]?)(\d+)(?:\.(\d+))?")
_ESTIMATE = re.compile(r"([-−]?\d+(?:\.\d+)?)(?: (\[.*\]))?")
_ONE_COLUMN, _PAGE = 52, 104
"""Characters that fit a column of a paper of two columns, and its page, in small print."""
_PROSE = 32
"""Characters of the widest column: longer cells are broken into lines."""
_BROKEN = r">{\raggedright\arraybackslash}p{14em}"


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


class Listed(NamedTuple):
    """Where a table of a study is: full names, so that only the code of the one that is asked for is imported."""

    table: str
    """Its `Table`."""
    record: str = ""
    """The record of its rows: all that a reader of its CSV needs, so that no figure rests on how rows are made.

    Empty: the one that the table itself names."""
    made_of: str = "scores"
    """The stage whose records it is made of."""

    def load(self) -> Table[..., Any]:
        """The table."""
        found: Table[..., Any] = load(self.table)
        return found

    def row(self) -> type[Record]:
        """The record of its rows."""
        found: type[Record] = load(self.record) if self.record else self.load().row
        return found


def varying(rows: Sequence[object], names: Sequence[str], always: Sequence[str] = ("vlm",)) -> list[str]:
    """Those of the names by which rows differ, and `always`."""
    return [name for name in names if name in always or len({getattr(row, name) for row in rows}) > 1]


def csv_text(kind: type[Record], rows: Iterable[Record]) -> str:
    """RFC 4180 with LF, a column a field; figures with 4 decimals, None an empty cell."""
    cells = ([cell(value) for value in row.model_dump(mode="json").values()] for row in rows)
    return "".join(map(csv_line, chain([kind.model_fields], cells)))


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


def markdown(rendered: RenderedTable) -> str:
    """A GitHub table."""
    lines = [f"### {rendered.title}", "", _pipes(rendered.headings), _pipes(["---"] * len(rendered.headings))]
    lines += [_pipes(row) for row in rendered.body]
    return "\n".join(lines + [line for note in rendered.notes for line in ("", note)]) + "\n"


def latex(rendered: RenderedTable) -> str:
    """A table in small print: `table` where it fits one column of a paper of two, else `table*`.

    Numbers stand in `S` columns, in which decimal points are aligned, and the intervals of estimates in columns of
    their own; long cells are broken into lines. A table that is wider than the page is turned on its side if that is
    narrower; if it is still too wide, it is shrunk. The document needs the packages booktabs and siunitx, and graphicx
    where a table is shrunk.
    """
    lines = [rendered.headings, *rendered.body]
    turned = list(zip(*lines, strict=True))
    if rendered.body and _width(lines) > max(_PAGE, _width(turned)):
        lines = turned
    columns = [_column(heading, cells) for heading, *cells in zip(*lines, strict=True)]
    width = _width(lines)
    kind = "table" if width <= _ONE_COLUMN else "table*"
    tabular = [
        rf"\begin{{tabular}}{{{''.join(spec for spec, *_ in columns)}}}",
        r"\toprule",
        _row([heading for _, heading, _ in columns]),
        r"\midrule",
        *(_row(cells) for cells in zip(*(cells for *_, cells in columns), strict=True)),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    shrunk = [r"\resizebox{\textwidth}{!}{%", *tabular, "}"] if width > _PAGE else tabular
    notes = [rf"\par\smallskip\footnotesize {_escaped(' '.join(rendered.notes))}"] if rendered.notes else []
    caption = [rf"\caption{{{_escaped(rendered.title)}}}", rf"\label{{tab:{rendered.name}}}"]
    whole = [rf"\begin{{{kind}}}", r"\centering", r"\small", *caption, *shrunk, *notes, rf"\end{{{kind}}}"]
    return "\n".join(whole) + "\n"


def _width(lines: Sequence[Sequence[str]]) -> int:
    """The characters of a table's longest lines, with the gaps between columns."""
    return sum(2 + min(_PROSE, max(map(len, cells))) for cells in zip(*lines, strict=True))


def _column(heading: str, cells: Sequence[str]) -> tuple[str, str, list[str]]:
    """A column as LaTeX: what it is, its heading and its cells; an estimate with its interval takes two."""
    parts = [_ESTIMATE.fullmatch(text) for text in cells]
    numbers = [found[1] for found in parts if found]
    others = [text for found, text in zip(parts, cells, strict=True) if not found and text]
    if not numbers or not all(text.startswith("< ") for text in others):
        kind = "l" if max(map(len, (heading, *cells))) <= _PROSE else _BROKEN
        return kind, _escaped(heading), [_escaped(text) for text in cells]
    aligned = f"S[table-format={_format(numbers)}]"
    first = [
        found[1].replace("−", "-") if found else f"{{{_escaped(text)}}}" * bool(text)
        for found, text in zip(parts, cells, strict=True)
    ]
    if not any(found and found[2] for found in parts):
        return aligned, f"{{{_escaped(heading)}}}", first
    second = [_escaped(re.sub(r"-(?=\d)", "−", found[2] or "")) if found else "" for found in parts]
    whole = [f"{number} & {interval}" for number, interval in zip(first, second, strict=True)]
    return aligned + r"@{\ }l", rf"\multicolumn{{2}}{{c}}{{{_escaped(heading)}}}", whole


def _format(numbers: Sequence[str]) -> str:
    """The digits that a column of numbers needs, as siunitx takes them: `-3.4`."""
    found = [match.groups() for match in map(_NUMBER.fullmatch, numbers) if match]
    sign = "-" if any(sign for sign, _, _ in found) else ""
    return f"{sign}{max(len(whole) for _, whole, _ in found)}.{max(len(rest or '') for *_, rest in found)}"


def _pipes(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_piped(text) for text in cells)} |"


def _row(cells: Sequence[str]) -> str:
    line = " & ".join(cells) + r" \\"
    return "{}" + line if line.startswith("[") else line  # `[` behind the end of a line would be an option of it


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


def or_bounds(metric: str) -> Callable[[Any], str]:
    """The cell of a figure with its interval or, where there is no figure, with its bounds: `0.2500 to 1.0000`."""

    def shown(row: Any) -> str:
        least, most = (getattr(row, metric + end) for end in ("_min", "_max"))
        if getattr(row, metric) is not None or least is None:
            return with_interval(row, metric)
        return f"not known, {cell(least)} to {cell(most)}"

    return shown


def intervals(rows: Sequence[Any]) -> str:
    """How the intervals of some rows were computed, each way once: `Intervals: percentile bootstrap 95 %. `."""
    used = interval_methods(*(row.ci for row in rows))
    return f"Intervals: {used}. " if used else ""


def world_note(rows: Sequence[Any]) -> tuple[str, ...]:
    """What the mark means, where some row has it."""
    return (TEST_WORLD_NOTE,) if any(row.test_world for row in rows) else ()


def write_table(out: Path, kind: type[Record], rows: Iterable[Record], rendered: RenderedTable) -> None:
    """Write a table as CSV, Markdown and LaTeX."""
    write_text(Path(f"{out}.csv"), csv_text(kind, rows))
    write_text(Path(f"{out}.md"), markdown(rendered))
    write_text(Path(f"{out}.tex"), latex(rendered))
