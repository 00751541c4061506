"""What the pages of all evaluations share: tables and figures for readers, and the items of a gallery.

A page is one static HTML file without external resources, which works from the file system.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from cfeval.core.image_folders import reasons
from cfeval.core.jsonl import read_csv
from cfeval.core.record import uses
from cfeval.core.shards import left_out_of, shard_files
from cfeval.report.bars import GRID, INK, MUTED, PAPER
from cfeval.report.digits import shortened
from cfeval.report.gallery import Gallery
from cfeval.report.html import rendered, script_json
from cfeval.report.tables import Drawing, Listed, RenderedTable

FILES = {"csv": "CSV", "md": "Markdown", "tex": "LaTeX"}
"""What a table is written as, and what readers call it."""
DRAWN = {"svg": "SVG", "pdf": "PDF", "png": "PNG"}
"""What a figure is written as, likewise."""
MOST_COLUMNS, MOST_ROWS = 8, 7
"""A table with more columns is turned on its side, so that it fits the page, if it has no more rows, or three fifths as
many rows as columns."""
P_VALUE = "p, "
"""How headings of p-values begin, which keep their decimals."""
_THEMED = {INK: "currentColor", MUTED: "var(--muted)", GRID: "var(--line)", PAPER: "none"}


@dataclass(frozen=True)
class Section:
    """A table, its rows, and the figure that shows it (SVG as cfeval draws it), which is optional."""

    name: str
    rendered: RenderedTable
    rows: Sequence[Any]
    figure: str = ""
    files: tuple[tuple[str, str], ...] = ()
    """Links to the table as a file, with what each is called."""

    @property
    def turned(self) -> bool:
        """Whether its columns are shown as rows."""
        columns, rows = len(self.rendered.headings), len(self.rendered.body)
        return columns > MOST_COLUMNS and rows <= max(MOST_ROWS, 0.6 * columns)

    @property
    def wide(self) -> bool:
        """Whether it has many columns even so: intervals are shown below their figures."""
        return len(self.cells[0]) > MOST_COLUMNS

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The cells with as many decimals as they are worth, headings first; turned on their side where `turned`."""
        n = max((getattr(row, "n", 0) for row in self.rows), default=0)
        body = [
            tuple(
                text if heading.startswith(P_VALUE) else shortened(text, n)
                for heading, text in zip(self.rendered.headings, row, strict=True)
            )
            for row in self.rendered.body
        ]
        whole = [self.rendered.headings, *body]
        return list(zip(*whole, strict=True)) if self.turned else whole


@dataclass(frozen=True)
class Row:
    """A row of the narrow table on a page's first screen (`study.html.j2`)."""

    name: str
    among: str
    """What tells it from rows of the same name."""
    bar: Markup
    """Its figure as a drawing (`report.bars`)."""
    value: str
    """Its figure; empty where there is none."""
    interval: str
    cells: tuple[tuple[str, str], ...]
    """Further cells, each with its heading."""
    said: str = ""
    """What follows from the figure, in a word or two."""
    why: str = ""
    """Of what that is said."""
    mark: str = "open"
    """Its sign: `yes`, `no` or `open`."""
    tone: str = ""
    """The class of the row in the style sheet."""


@dataclass(frozen=True)
class Progress:
    """How far the run is whose records so far a page shows (`cfeval report --live`)."""

    done: int
    jobs: int
    steps: tuple[tuple[str, int, int], ...] = ()
    """By step: its name, how many of its jobs are done, and how many it has."""
    note: str = ""
    """What is not shown yet, and why."""
    seconds: int = 0
    """After which the browser loads the page again; 0: never."""
    finished: str = ""
    """A link to the finished page, once it is there."""


def page_of(
    template: str,
    script: str,
    title: str,
    sections: Sequence[Section],
    gallery: Gallery,
    endings: Mapping[str, tuple[str, ...]],
    progress: Progress | None = None,
    not_used: Sequence[str] = (),
    style: str = "",
    **content: object,
) -> str:
    """The whole page; the same arguments give the same text.

    Args:
        template: its file in `templates/`, which extends `base.html.j2`.
        script: the script's file that shows an opened item of this evaluation.
        title: the question that the page answers.
        sections: tables and figures, in order.
        gallery: the items.
        endings: how an item ends for a model: in two words, in a sentence, and the sign (`icons.svg.j2`) where that has
            another name.
        progress: how far the run is; None where it has ended.
        not_used: what of the sets was left out; see `not_used_of`.
        style: a further style sheet's file of this evaluation; empty: none.
        content: what the template shows beside.
    """
    return rendered(
        template,
        styles=["report.css", *([style] if style else []), "print.css"],
        scripts=["page.js", "words.js", "compare.js", script, "gallery.js"],
        title=title,
        sections=[(section, themed(section.figure, section.rendered.title)) for section in sections],
        gallery=gallery,
        progress=progress,
        not_used=not_used,
        about=script_json({"views": gallery.views, "endings": endings, "images": gallery.images}),
        **content,
    )


def not_used_of(folder: Path, names: Iterable[str], shards: int) -> list[str]:
    """A line for each set of which something was left out when its items were filed.

    Args:
        folder: holds a record file, or the shards of one, for each set.
        names: the sets.
        shards: into how many files each is cut.
    """
    files = {name: shard_files(folder / f"{name}.jsonl", shards) for name in dict.fromkeys(names)}
    left_out = {name: reasons(left_out_of(shards_of_name)) for name, shards_of_name in files.items()}
    return [f"Not used of {name}: {why}." for name, why in left_out.items() if why]


def themed(svg: str, title_: str) -> Markup:
    """A figure to stand in the page, with an accessible name, in the page's own colors, light or dark."""
    body = svg[svg.find("<svg") :] if "<svg" in svg else ""
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    for color, own in _THEMED.items():
        body = body.replace(color, own)
    named = Markup('<svg role="img" aria-label="{}"').format(f"Figure: {title_}")
    return Markup(body.replace("<svg", named, 1))


def sections_of(
    study: str,
    listed: tuple[Mapping[str, Listed], Mapping[str, Drawing]],
    wanted: Sequence[str],
    folders: tuple[Path | None, Path | None],
    at: Path,
) -> Iterator[Section]:
    """The wanted tables of an evaluation that have a row, in the order of the report.

    Args:
        study: the evaluation's name, with which the files' names begin.
        listed: its tables and its figures by name.
        wanted: the names of the tables to show.
        folders: of the tables' files and of the figures'; None: there are none.
        at: the folder of the page, from which files are linked.
    """
    (tables, figures), (of_tables, of_figures) = listed, folders
    for name, one in tables.items():
        path = Path(of_tables or "") / f"{study}_{name}.csv"
        if of_tables and name in wanted and path.is_file():
            table = one.load()
            if rows := read_csv(path, table.row):
                drawn = _figure_of(study, name, figures, of_figures)
                uses(*[drawn] if drawn else ())
                files = [(label, path.with_suffix(f".{ending}")) for ending, label in FILES.items()]
                files += [(label, drawn.with_suffix(f".{ending}")) for ending, label in DRAWN.items()] if drawn else []
                links = tuple(
                    (label, quote(Path(os.path.relpath(file, at)).as_posix()))
                    for label, file in files
                    if file.is_file()
                )
                yield Section(name, table.render(rows), rows, drawn.read_text(encoding="utf-8") if drawn else "", links)


def _figure_of(study: str, table: str, figures: Mapping[str, Drawing], folder: Path | None) -> Path | None:
    names = [figure for figure, shown in figures.items() if shown.table == table]
    path = Path(folder or "") / f"{study}_{names[0]}.svg" if folder and names else None
    return path if path and path.is_file() else None
