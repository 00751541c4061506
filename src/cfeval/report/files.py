"""What a study writes of its tables: CSV, Markdown and LaTeX; figures, and the headline figures for `dvc metrics`."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.core.errors import InputError, nearest
from cfeval.core.extras import load
from cfeval.core.files import write_text
from cfeval.core.jsonl import read_csv
from cfeval.core.records import Record
from cfeval.report.tables import Drawing, Listed, RenderedTable, csv_text, markdown

TablesFolder = Annotated[Path, typer.Option("--tables", help="Folder of the study's tables (CSV).")]
Figures = Annotated[list[str], typer.Option("--figure", help="A figure to draw; once for each.")]
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


def write_table(out: Path, kind: type[Record], rows: Iterable[Record], rendered: RenderedTable) -> None:
    """Write a table as CSV, Markdown and LaTeX."""
    write_text(Path(f"{out}.csv"), csv_text(kind, rows))
    write_text(Path(f"{out}.md"), markdown(rendered))
    write_text(Path(f"{out}.tex"), latex(rendered))


def table_file(study: str, name: str, folder: Path) -> Path:
    """Where a table of a study lies."""
    return folder / f"{study}_{name}.csv"


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
    study: str,
    tables: Mapping[str, Listed],
    names: Sequence[str],
    metrics: Callable[[Mapping[str, Sequence[Any]]], Mapping[str, Any]],
    folder: Path,
    file: str,
) -> None:
    """Write the headline figures of some tables of a folder as JSON beside them; `metrics` makes them of the rows."""
    rows = {name: read_csv(table_file(study, name, folder), tables[name].row()) for name in names}
    write_text(folder / file, json.dumps(metrics(rows), indent=2, sort_keys=True) + "\n")


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


def _row(cells: Sequence[str]) -> str:
    line = " & ".join(cells) + r" \\"
    return "{}" + line if line.startswith("[") else line  # `[` behind the end of a line would be an option of it


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in text)
