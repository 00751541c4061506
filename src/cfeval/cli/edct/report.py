"""Write the report: tables, figures, and every item with its pictures, texts and verdicts, on one HTML page."""

import os
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from cfeval.cli.common import Out
from cfeval.cli.edct.common import Arms, Results, Shards, arms_of
from cfeval.io.arm_files import ArmFiles
from cfeval.io.atomic import write_text
from cfeval.io.pictures import in_archive, load
from cfeval.io.records import read_csv
from cfeval.records.common import ImageRef
from cfeval.records.edct import Arm, Score
from cfeval.report.cards import Card, Evidence, cards
from cfeval.report.data_url import data_url
from cfeval.report.figures_edct import FIGURES
from cfeval.report.page import Section, page
from cfeval.tables.formats import Sheet
from cfeval.tables.names_edct import TABLES

_SIDE = 512
"""In pixels: a larger picture that stands in the page is shrunk to that."""


def run(
    results: Results,
    arms: Arms,
    out: Out,
    shards: Shards = 1,
    tables: Annotated[Path | None, typer.Option(help="Folder of the tables (edct_table1.csv, …) to show.")] = None,
    figures: Annotated[Path | None, typer.Option(help="Folder of the figures (edct_forest.svg, …) to show.")] = None,
    table: Annotated[
        list[str] | None, typer.Option(help="A table of that folder to show; may be repeated. None: all.")
    ] = None,
    per_arm: Annotated[int, typer.Option(min=1, help="At most so many items of each arm in the gallery.")] = 400,
) -> None:
    """Write the report: tables, figures, and every item with its pictures, texts and verdicts, on one HTML page."""
    shown_tables = list(_tables(tables, table or list(TABLES)))
    sections = [Section(sheet, _figure_of(name, figures)) for name, sheet, _ in shown_tables]
    built_in = dict.fromkeys(_target(row) for *_, rows in shown_tables for row in rows if getattr(row, "test_world", 0))
    shown: list[Card] = []
    left_out, link = 0, _Links(out.parent)
    for arm in dict.fromkeys(arms_of(arms)):
        files = ArmFiles(results, arm, shards)
        scores, others = _first(files.scores(), per_arm)
        shown += cards(_evidence(files.of({score.id for score in scores}), arm, scores, link))
        left_out += others
    write_text(out, page(sections, _by_item(shown), left_out, list(built_in)))


def _tables(folder: Path | None, wanted: Sequence[str]) -> Iterator[tuple[str, Sheet, list[Any]]]:
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
    """All arms of an item side by side, items in the order in which they first appear."""
    place = {key: number for number, key in enumerate(dict.fromkeys((c.arm.dataset, c.id) for c in shown))}
    return sorted(shown, key=lambda card: (place[card.arm.dataset, card.id], card.edit))


def _first(scores: Iterator[Score], most: int) -> tuple[list[Score], int]:
    """The first scores in the order of ids and edits, whatever the order of the files; and how many more there are."""
    number = count()
    first = nsmallest(most, (score for score, _ in zip(scores, number, strict=False)), key=attrgetter("id", "edit"))
    return first, next(number) - len(first)


def _evidence(files: ArmFiles, arm: Arm, scores: Sequence[Score], link: "_Links") -> Evidence:
    """Everything about these scores of an arm."""
    samples = list(files.samples())
    return Evidence(
        arm=arm,
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

    The arms show the same originals: each picture is drawn once.
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
