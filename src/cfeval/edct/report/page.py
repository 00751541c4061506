"""The report: one static HTML page without external resources, which works from the file system.

On top it shows a few items, each with the counterfactuals of all targets side by side.
"""

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from markupsafe import Markup

from cfeval.core.cli_options import Out
from cfeval.core.files import write_text
from cfeval.core.images import in_archive, load
from cfeval.core.jsonl import read_csv
from cfeval.core.records import ImageRef
from cfeval.edct.figures import FIGURES
from cfeval.edct.files import ConditionFiles
from cfeval.edct.options import Conditions, Results, Shards, conditions_of
from cfeval.edct.records import Condition, Score
from cfeval.edct.report.cards import Card, Evidence, cards, payload
from cfeval.edct.tables import TABLES
from cfeval.report.colors import GRID, INK, MUTED, PAPER
from cfeval.report.html import data_url, rendered
from cfeval.report.tables import RenderedTable

ITEMS, TARGETS = 5, 7
"""At most so many stand side by side on top."""
_THEMED = {INK: "currentColor", MUTED: "var(--muted)", GRID: "var(--line)", PAPER: "none"}
_SIDE = 512
"""In pixels: a larger picture that stands in the page is shrunk to that."""


@dataclass(frozen=True)
class Strip:
    """One item: its original and, in the order of the targets, a card each; None where a target has none."""

    first: Card
    cards: tuple[Card | None, ...]


@dataclass(frozen=True)
class Showcase:
    """The strips and the targets they show."""

    targets: tuple[str, ...]
    strips: tuple[Strip, ...]


@dataclass(frozen=True)
class Section:
    """A table and the figure beside it (SVG as cfeval draws it), either of them optional."""

    sheet: RenderedTable | None = None
    figure: str = ""


def page(sections: Sequence[Section], cards: Sequence[Card], left_out: int, test_targets: Collection[str]) -> str:
    """The whole page; the same arguments give the same text.

    Args:
        sections: tables and figures, in order.
        cards: what the gallery shows.
        left_out: how many further items the gallery does not show.
        test_targets: targets that are built-in test models, to be said on the page.
    """
    return rendered(
        "report.html.j2",
        styles=["palette.css", "report.css"],
        scripts=["gallery.js"],
        sections=[(section.sheet, themed(section.figure)) for section in sections],
        showcase=showcase(cards),
        data=payload(cards),
        shown=len(cards),
        left_out=left_out,
        test_targets=test_targets,
    )


def themed(svg: str) -> Markup:
    """A figure to stand in the page, in the page's own colors, light or dark."""
    body = svg[svg.find("<svg") :] if "<svg" in svg else ""
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    for color, own in _THEMED.items():
        body = body.replace(color, own)
    return Markup(body)


def showcase(cards: Sequence[Card]) -> Showcase:
    """Items of the first condition's setting, one of each kind of question first, those that tell the targets apart
    first.
    """
    if not cards:
        return Showcase((), ())
    setting = _setting(cards[0].condition)
    shown = [card for card in cards if _setting(card.condition) == setting and card.edit == 1]
    targets = tuple(dict.fromkeys(card.condition.vlm for card in shown))[:TARGETS]
    by_item: dict[str, dict[str, Card]] = defaultdict(dict)
    for card in shown:
        by_item[card.id][card.condition.vlm] = card
    ranked = sorted(by_item.values(), key=lambda found: _rank(found, targets))
    strips = [Strip(next(iter(f.values())), tuple(f.get(t) for t in targets)) for f in _one_of_each_kind(ranked)]
    return Showcase(targets, tuple(strips[:ITEMS]))


def _setting(condition: Condition) -> Condition:
    return condition.model_copy(update={"vlm": ""})


def _rank(found: dict[str, Card], targets: Iterable[str]) -> tuple[int, int, str]:
    """Fewest missing pictures, then most nearly as many faithful as unfaithful targets, then the id."""
    cards = [found[target] for target in targets if target in found]
    pictures = sum(bool(card.edited) for card in cards)
    faithful = sum(card.ccs == 1 for card in cards)
    unfaithful = sum(card.ccs == 0 for card in cards)
    return -pictures, abs(faithful - unfaithful), cards[0].id if cards else ""


def _one_of_each_kind(ranked: Sequence[dict[str, Card]]) -> list[dict[str, Card]]:
    """The same items, those that are the first of their kind in front."""
    seen: set[str] = set()
    first: list[dict[str, Card]] = []
    rest: list[dict[str, Card]] = []
    for found in ranked:
        kind = next(iter(found.values())).kind
        (rest if kind in seen else first).append(found)
        seen.add(kind)
    return first + rest


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
    per_condition: Annotated[
        int, typer.Option(min=1, help="At most so many items of each condition in the gallery.")
    ] = 400,
) -> None:
    """Write the report: tables, figures, and every item with its pictures, texts and verdicts, on one HTML page."""
    shown_tables = list(_tables(tables, table or list(TABLES)))
    sections = [Section(sheet, _figure_of(name, figures)) for name, sheet, _ in shown_tables]
    built_in = dict.fromkeys(_target(row) for *_, rows in shown_tables for row in rows if getattr(row, "test_world", 0))
    shown: list[Card] = []
    left_out, link = 0, _Links(out.parent)
    for condition in dict.fromkeys(conditions_of(conditions)):
        files = ConditionFiles(results, condition, shards)
        scores, others = _first(files.scores(), per_condition)
        shown += cards(_evidence(files.of({score.id for score in scores}), condition, scores, link))
        left_out += others
    write_text(out, page(sections, _by_item(shown), left_out, list(built_in)))


def _tables(folder: Path | None, wanted: Sequence[str]) -> Iterator[tuple[str, RenderedTable, list[Any]]]:
    """The wanted tables of a folder that have a row: name, sheet and rows, in the order of the report."""
    there = [name for name in TABLES if folder and name in wanted and (folder / f"edct_{name}.csv").is_file()]
    for name in there:
        table = TABLES[name].load()
        if rows := read_csv(Path(folder or "") / f"edct_{name}.csv", table.row):
            yield name, table.sheet(rows), rows


def _target(row: Any) -> str:
    """The target that a row of any table is about."""
    return str(row.vlm if hasattr(row, "vlm") else row.target)


def _figure_of(table: str, folder: Path | None) -> str:
    """The figure that shows a table, as SVG; empty where there is none."""
    names = [figure for figure, shown in FIGURES.items() if shown.table == table]
    path = Path(folder or "") / f"edct_{names[0]}.svg" if folder and names else None
    return path.read_text(encoding="utf-8") if path and path.is_file() else ""


def _by_item(shown: list[Card]) -> list[Card]:
    """All conditions of an item side by side, items in the order in which they first appear."""
    place = {key: number for number, key in enumerate(dict.fromkeys((c.condition.dataset, c.id) for c in shown))}
    return sorted(shown, key=lambda card: (place[card.condition.dataset, card.id], card.edit))


def _first(scores: Iterator[Score], most: int) -> tuple[list[Score], int]:
    """The first scores in the order of ids and edits, whatever the order of the files; and how many more there are."""
    number = count()
    first = nsmallest(most, (score for score, _ in zip(scores, number, strict=False)), key=attrgetter("id", "edit"))
    return first, next(number) - len(first)


def _evidence(files: ConditionFiles, condition: Condition, scores: Sequence[Score], link: "_Links") -> Evidence:
    """Everything about these scores of a condition."""
    samples = list(files.samples())
    return Evidence(
        condition=condition,
        scores=scores,
        samples={sample.id: sample for sample, _ in samples},
        baselines=files.baselines(),
        originals={sample.id: link(folder, sample.image) for sample, folder in samples},
        instructions=files.instructions(),
        edits={
            (record.id, record.edit): link(folder, record.image)
            for record, folder in files.counterfactuals()
            if record.image is not None
        },
        requeries=files.requeries(),
    )


class _Links:
    """Links to pictures from a page; those in an archive, where no link leads, stand in the page themselves.

    The conditions show the same originals: each picture is drawn once.
    """

    def __init__(self, page_folder: Path) -> None:
        self._page_folder = page_folder
        self._drawn: dict[str, str] = {}

    def __call__(self, folder: Path, ref: ImageRef) -> str:
        """The link to a picture."""
        if not in_archive(folder):
            return quote(Path(os.path.relpath(folder / ref.path, self._page_folder)).as_posix())
        if ref.sha256 not in self._drawn:
            self._drawn[ref.sha256] = data_url(load(folder, ref), _SIDE)
        return self._drawn[ref.sha256]
