"""Write the report: tables, figures, and every item with its pictures, texts and verdicts, on one HTML page."""

import os
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import typer

from cfeval.cli.common import Out
from cfeval.cli.edct.common import Arms, arms_of
from cfeval.io.atomic import write_text
from cfeval.io.pictures import folder_of
from cfeval.io.records import read_csv, read_jsonl
from cfeval.io.samples import shard_files
from cfeval.records.edct import Arm, Baseline, Counterfactual, Instruction, Requery, Sample, Score
from cfeval.report.cards import Card, Evidence, cards
from cfeval.report.figures import TABLE_OF
from cfeval.report.page import Section, page
from cfeval.tables import NAMES
from cfeval.tables.formats import Sheet

R = TypeVar("R", Instruction, Counterfactual, Requery)


def run(
    results: Annotated[Path, typer.Option(help="Folder of the study's results, such as results/edct.")],
    arms: Arms,
    out: Out,
    shards: Annotated[int, typer.Option(min=1, max=999, help="Into how many files each stage is cut.")] = 1,
    tables: Annotated[Path | None, typer.Option(help="Folder of the tables (edct_table1.csv, …) to show.")] = None,
    figures: Annotated[Path | None, typer.Option(help="Folder of the figures (edct_forest.svg, …) to show.")] = None,
    per_arm: Annotated[int, typer.Option(min=1, help="At most so many items of each arm in the gallery.")] = 400,
) -> None:
    """Write the report: tables, figures, and every item with its pictures, texts and verdicts, on one HTML page."""
    shown_tables = list(_tables(tables))
    sections = [Section(sheet, _figure_of(name, figures)) for name, sheet, _ in shown_tables]
    built_in = dict.fromkeys(row.vlm for *_, rows in shown_tables for row in rows if getattr(row, "test_world", 0))
    shown: list[Card] = []
    left_out = 0
    for arm in dict.fromkeys(arms_of(arms)):
        found = cards(_Files(results, arm, shards, out.parent).evidence())
        shown += islice(found, per_arm)
        left_out += sum(1 for _ in found)
    write_text(out, page(sections, _by_item(shown), left_out, list(built_in)))


def _tables(folder: Path | None) -> Iterator[tuple[str, Sheet, list[Any]]]:
    """The tables of a folder that have a row: name, sheet and rows, in the order of the report."""
    for name in NAMES if folder else ():
        table = import_module(f"cfeval.tables.edct_{name}")
        path = Path(folder or "") / f"edct_{name}.csv"
        if path.is_file() and (rows := read_csv(path, table.ROW)):
            yield name, table.sheet(rows), rows


def _figure_of(table: str, folder: Path | None) -> str:
    """The figure that shows a table, as SVG; empty where there is none."""
    names = [figure for figure, shown in TABLE_OF.items() if shown == table]
    path = Path(folder or "") / f"edct_{names[0]}.svg" if folder and names else None
    return path.read_text(encoding="utf-8") if path and path.is_file() else ""


def _by_item(shown: list[Card]) -> list[Card]:
    """All arms of an item side by side, items in the order in which they first appear."""
    place = {key: number for number, key in enumerate(dict.fromkeys((c.arm.dataset, c.id, c.edit) for c in shown))}
    return sorted(shown, key=lambda card: place[card.arm.dataset, card.id, card.edit])


class _Files:
    """The record files of one arm."""

    def __init__(self, results: Path, arm: Arm, shards: int, page_folder: Path) -> None:
        names = (arm.dataset, arm.vlm, arm.writer, arm.protocol, arm.editor, arm.judge)
        self._results, self._arm, self._names, self._shards, self._page = results, arm, names, shards, page_folder

    def evidence(self) -> Evidence:
        """Everything about the arm, its scores in the order of the ids."""
        edits = self._stage("counterfactuals", 5)
        return Evidence(
            arm=self._arm,
            scores=sorted(
                (row for file in self._stage("scores", 6, "csv") for row in read_csv(file, Score)),
                key=lambda row: (row.id, row.edit),
            ),
            samples={sample.id: sample for _, sample in self._samples()},
            baselines={r.id: r for file in self._stage("baseline", 2) for r in read_jsonl(file, Baseline)},
            originals={sample.id: self._link(file, sample.image.path) for file, sample in self._samples()},
            instructions=_by_edit(r for file in self._stage("instructions", 4) for r in read_jsonl(file, Instruction)),
            edits={
                (r.id, r.edit): self._link(file, r.image.path)
                for file in edits
                for r in read_jsonl(file, Counterfactual)
                if r.image is not None
            },
            requeries=_by_edit(r for file in self._stage("requery", 5) for r in read_jsonl(file, Requery)),
        )

    def _samples(self) -> Iterator[tuple[Path, Sample]]:
        return ((file, sample) for file in self._stage("samples", 1) for sample in read_jsonl(file, Sample))

    def _stage(self, stage: str, names: int, ending: str = "jsonl") -> list[Path]:
        """The files of a stage; its path holds so many of the arm's names."""
        return shard_files(self._results / stage / ("/".join(self._names[:names]) + f".{ending}"), self._shards)

    def _link(self, file: Path, picture: str) -> str:
        """From the page to a picture of a record file."""
        return quote(Path(os.path.relpath(folder_of(file) / picture, self._page)).as_posix())


def _by_edit(records: Iterable[R]) -> dict[tuple[str, int], R]:
    return {(record.id, record.edit): record for record in records}
