"""The report: one static HTML page without external resources, which works from the file system.

First what was found and what backs it, then a trust card for each model, the tables, and every item.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from markupsafe import Markup

from cfeval.core.cli_options import Out
from cfeval.core.files import write_text
from cfeval.core.jsonl import read_csv
from cfeval.edct.faithfulness.card import FIT_BOUND
from cfeval.edct.figures import FIGURES
from cfeval.edct.options import Conditions, Results, Shards, conditions_of
from cfeval.edct.report.card import Example, bar, claims, examples, said
from cfeval.edct.report.evidence import gather
from cfeval.edct.report.finding import SHOWN, Line, finding, lines, shown_conditions, title
from cfeval.edct.report.items import ENDINGS, Item, View, items_of, views
from cfeval.edct.report.study import Images, Study
from cfeval.edct.report.trust import Check, checks
from cfeval.edct.tables import TABLES
from cfeval.inference.remote.totals import CallsTotal, calls_total
from cfeval.report.colors import GRID, INK, MUTED, PAPER
from cfeval.report.digits import shortened, two
from cfeval.report.html import rendered, script_json
from cfeval.report.tables import RenderedTable

CHUNK = 100
"""Items in one script element: the page is usable before the last one is read."""
FILES = ("csv", "md", "tex")
"""What a table is written as."""
MOST_COLUMNS, MOST_ROWS = 8, 7
"""A table with more columns, and no more rows, is turned on its side, so that it fits the page."""
P_VALUE = "p, "
"""How headings of p-values begin, which keep their decimals."""
_BAR = 180
_THEMED = {INK: "currentColor", MUTED: "var(--muted)", GRID: "var(--line)", PAPER: "none"}


@dataclass(frozen=True)
class Section:
    """A table, its rows, and the figure that shows it (SVG as cfeval draws it), which is optional."""

    name: str
    sheet: RenderedTable
    rows: Sequence[Any]
    figure: str = ""
    files: tuple[tuple[str, str], ...] = ()
    """Links to the table as a file, with what each is called."""

    @property
    def turned(self) -> bool:
        """Whether its columns are shown as rows."""
        return len(self.sheet.headings) > MOST_COLUMNS and len(self.sheet.body) <= MOST_ROWS

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The cells with as many decimals as they are worth, headings first; turned on their side where `turned`."""
        n = max((getattr(row, "n", 0) for row in self.rows), default=0)
        body = [
            tuple(
                text if heading.startswith(P_VALUE) else shortened(text, n)
                for heading, text in zip(self.sheet.headings, row, strict=True)
            )
            for row in self.sheet.body
        ]
        whole = [self.sheet.headings, *body]
        return list(zip(*whole, strict=True)) if self.turned else whole


@dataclass(frozen=True)
class Gallery:
    """The items of a page: views, their rows as JSON in chunks, and how many further items there are."""

    views: Sequence[View]
    chunks: Sequence[tuple[int, Markup]]
    """The number of a view, and some of its rows."""
    images: Sequence[str]
    shown: int
    left_out: int


def page(
    sections: Sequence[Section],
    of: Sequence[Line],
    panel: Sequence[Check],
    shows: Sequence[tuple[Line, Sequence[Example]]],
    gallery: Gallery,
    total: CallsTotal | None,
) -> str:
    """The whole page; the same arguments give the same text.

    Args:
        sections: tables and figures, in order.
        of: the lines of the first screen.
        panel: what backs them.
        shows: the lines with a trust card or items, each with the items that show it.
        gallery: the items.
        total: what the calls came to; None where nobody says.
    """
    test_models = list(dict.fromkeys(line.model for line in of if getattr(line.row, "test_world", 0)))
    return rendered(
        "report.html.j2",
        styles=["report.css", "print.css"],
        scripts=["page.js", "words.js", "compare.js", "item.js", "gallery.js"],
        title=title(of) if of else "The items of a study",
        finding=finding(of) if of else "",
        kicker=_kicker(of, total),
        lines=[(line, _bar(line), _cells(line)) for line in of],
        shown=SHOWN,
        bound=FIT_BOUND,
        panel=panel,
        tone="bad"
        if any(check.bad for check in panel)
        else "part"
        if any(c.state != "backed" for c in panel)
        else "ok",
        cards=[(line, claims(line), said(claims(line)), picked) for line, picked in shows],
        sections=[(section, themed(section.figure, section.sheet.title)) for section in sections],
        gallery=gallery,
        endings=ENDINGS,
        about=script_json(
            {"views": [view.as_json() for view in gallery.views], "endings": ENDINGS, "images": gallery.images}
        ),
        test_models=test_models,
    )


def _kicker(of: Sequence[Line], total: CallsTotal | None) -> str:
    """What was tested, on what, at what cost, and when where a reply says so."""
    sizes: dict[str, int] = {}
    for line in of:
        sizes[line.condition.dataset] = max(line.row.n, sizes.get(line.condition.dataset, 0))
    models = len({line.model for line in of})
    parts = ["Explanation-Driven Counterfactual Testing"]
    parts += [f"{models:,} model{'s' * (models != 1)}"] * bool(of)
    parts += [f"{name}: {n:,} items" for name, n in sizes.items()]
    parts += [total.text, total.when] if total else []
    return " · ".join(part for part in parts if part)


def _bar(line: Line) -> Markup:
    found = line.fit
    said_ = (
        f"FIT {two(found[0])}, 95 % interval {two(found[1])} to {two(found[2])}" if found else "FIT was not measured"
    )
    return bar(found, FIT_BOUND, True, f"{said_}; bound {FIT_BOUND:.2f}", _BAR)


def _cells(line: Line) -> dict[str, str]:
    """The figures of a line as text; empty where there is none."""
    row, found = line.row, line.fit
    rate = getattr(row, "citation_rate", None)
    strict = getattr(row, "strict_ccs", None)
    scored = getattr(row, "n_scored", None)
    return {
        "fit": two(found[0]) if found else "",
        "interval": f"{two(found[1])} to {two(found[2])}" if found else "",
        "strict": "" if strict is None else two(strict),
        "rate": "" if rate is None else two(rate),
        "scored": "" if scored is None else f"{scored:,}",
        "n": f"{row.n:,}",
    }


def themed(svg: str, title_: str) -> Markup:
    """A figure to stand in the page, with an accessible name, in the page's own colors, light or dark."""
    body = svg[svg.find("<svg") :] if "<svg" in svg else ""
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    for color, own in _THEMED.items():
        body = body.replace(color, own)
    named = Markup('<svg role="img" aria-label="{}"').format(f"Figure: {title_}")
    return Markup(body.replace("<svg", named, 1))


def run(
    results: Results,
    conditions: Conditions,
    out: Out,
    shards: Shards = 1,
    tables: Annotated[Path | None, typer.Option(help="Folder of the tables (edct_table1.csv, …) to show.")] = None,
    figures: Annotated[Path | None, typer.Option(help="Folder of the figures (edct_forest.svg, …) to show.")] = None,
    table: Annotated[
        list[str] | None, typer.Option(help="A table of that folder to show; may be repeated. None: all.")
    ] = None,
    calls: Annotated[Path | None, typer.Option(help="Archive of the calls (calls.zip), for what they cost.")] = None,
    per_condition: Annotated[
        int, typer.Option(min=1, help="At most so many items of each condition in the gallery.")
    ] = 400,
) -> None:
    """Write the report: what was found, what backs it, tables, figures, and every item, on one HTML page."""
    study = Study(results, tuple(dict.fromkeys(conditions_of(conditions))), shards)
    sections = list(_sections(tables, table or list(TABLES), figures, out.parent))
    rows = {section.name: section.rows for section in sections}
    evidence = {one: gather(one, study) for one in shown_conditions(rows) if one in study.conditions}
    of = lines(rows, evidence)
    shows: dict[int, Sequence[Example]] = {}
    gallery = _gallery(study, out.parent, per_condition, of, shows)
    panel = checks(of, rows.get("instrument", ()))
    cards = [(line, shows.get(number, ())) for number, line in enumerate(of)]
    write_text(out, page(sections, of, panel, cards, gallery, calls_total(calls) if calls else None))


def _gallery(study: Study, folder: Path, most: int, of: Sequence[Line], shows: dict[int, Sequence[Example]]) -> Gallery:
    """The items of every view; fills in `shows`, the examples by the numbers of the lines."""
    images, chunks, shown, left_out = Images(folder), list[tuple[int, Markup]](), 0, 0
    among = views(study.conditions)
    for number, view in enumerate(among):
        rows, others = items_of(view, study, images, most)
        shown, left_out = shown + len(rows), left_out + others
        chunks += [(number, script_json(rows[start : start + CHUNK])) for start in range(0, len(rows), CHUNK)]
        for place, line in enumerate(of):
            if _shows(view, line):
                shows[place] = [_linked(one, images) for one in examples(line.model, number, rows)]
    return Gallery(among, chunks, images.links, shown, left_out)


def _shows(view: View, line: Line) -> bool:
    return line.model in view.models and view.condition(line.model, line.condition.judge) == line.condition


def _linked(example: Example, images: Images) -> Example:
    """The same with links instead of the images' numbers."""
    turns = [{**turn, "img": images.links[turn["img"]]} if "img" in turn else turn for turn in example.cell["t"]]
    item: Item = {**example.item, "img": images.links[example.item["img"]], "cell": {**example.cell, "t": turns}}
    return Example(example.view, item, example.ending, example.share)


def _sections(folder: Path | None, wanted: Sequence[str], figures: Path | None, at: Path) -> Iterator[Section]:
    """The wanted tables of a folder that have a row, in the order of the report."""
    for name in TABLES:
        path = Path(folder or "") / f"edct_{name}.csv"
        if folder and name in wanted and path.is_file():
            table = TABLES[name].load()
            if rows := read_csv(path, table.row):
                files = tuple((ending, _link(path.with_suffix(f".{ending}"), at)) for ending in FILES)
                yield Section(name, table.sheet(rows), rows, _figure_of(name, figures), files)


def _link(path: Path, at: Path) -> str:
    return quote(Path(os.path.relpath(path, at)).as_posix())


def _figure_of(table: str, folder: Path | None) -> str:
    """The figure that shows a table, as SVG; empty where there is none."""
    names = [figure for figure, shown in FIGURES.items() if shown.table == table]
    path = Path(folder or "") / f"edct_{names[0]}.svg" if folder and names else None
    return path.read_text(encoding="utf-8") if path and path.is_file() else ""
