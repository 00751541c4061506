"""Write the report: tables, figures, and every item with its pictures, texts and verdicts, on one HTML page."""

import os
from itertools import islice
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from cfeval.cli.common import Out
from cfeval.cli.edct.common import Arms, arms_of
from cfeval.errors import InputError
from cfeval.io.arm_files import ArmFiles
from cfeval.io.atomic import write_text
from cfeval.io.records import read_csv
from cfeval.records.edct import Arm
from cfeval.records.tables import ArmRow, CalibrationRow
from cfeval.report.cards import Card, Evidence, cards
from cfeval.report.page import Section, page
from cfeval.tables import edct_calibration, edct_table1, edct_table2

Table = Annotated[Path | None, typer.Option(help="Table to show (CSV).")]
Drawing = Annotated[Path | None, typer.Option(help="Figure to show (SVG).")]


def run(
    results: Annotated[Path, typer.Option(help="Folder of the study's results, such as results/edct.")],
    arms: Arms,
    out: Out,
    shards: Annotated[int, typer.Option(min=1, max=999, help="Into how many files each stage is cut.")] = 1,
    table1: Table = None,
    table2: Table = None,
    calibration: Table = None,
    forest: Drawing = None,
    calibration_plot: Drawing = None,
    per_arm: Annotated[int, typer.Option(min=1, help="At most so many items of each arm in the gallery.")] = 400,
) -> None:
    """Write the report: tables, figures, and every item with its pictures, texts and verdicts, on one HTML page."""
    first, second = (read_csv(path, ArmRow) if path else [] for path in (table1, table2))
    known = read_csv(calibration, CalibrationRow) if calibration else []
    drawn = None if calibration and not known else calibration_plot
    sections = [
        Section(edct_table1.sheet(first) if first else None, _svg(forest)),
        Section(edct_calibration.sheet(known) if known else None, _svg(drawn)),
        Section(edct_table2.sheet(second) if second else None),
    ]
    built_in = dict.fromkeys([row.vlm for row in (*first, *second) if row.test_world] + [row.vlm for row in known])
    shown: list[Card] = []
    left_out = 0
    for arm in dict.fromkeys(arms_of(arms)):
        found = cards(_evidence(ArmFiles(results, arm, shards), arm, out.parent))
        shown += islice(found, per_arm)
        left_out += sum(1 for _ in found)
    write_text(out, page([s for s in sections if s.sheet or s.figure], _by_item(shown), left_out, list(built_in)))


def _svg(path: Path | None) -> str:
    try:
        return path.read_text(encoding="utf-8") if path else ""
    except OSError as error:
        raise InputError(f"{path}: cannot read the figure ({error.strerror})") from None


def _by_item(shown: list[Card]) -> list[Card]:
    """All arms of an item side by side, items in the order in which they first appear."""
    place = {key: number for number, key in enumerate(dict.fromkeys((c.arm.dataset, c.id, c.edit) for c in shown))}
    return sorted(shown, key=lambda card: place[card.arm.dataset, card.id, card.edit])


def _evidence(files: ArmFiles, arm: Arm, page_folder: Path) -> Evidence:
    """Everything about an arm, its scores in the order of the ids; pictures are links from the page."""
    samples = list(files.samples())
    return Evidence(
        arm=arm,
        scores=files.scores(),
        samples={sample.id: sample for sample, _ in samples},
        baselines=files.baselines(),
        originals={sample.id: _link(folder / sample.image.path, page_folder) for sample, folder in samples},
        instructions=files.instructions(),
        edits={
            (record.id, record.edit): _link(folder / record.image.path, page_folder)
            for record, folder in files.counterfactuals()
            if record.image is not None
        },
        requeries=files.requeries(),
    )


def _link(picture: Path, page_folder: Path) -> str:
    return quote(Path(os.path.relpath(picture, page_folder)).as_posix())
