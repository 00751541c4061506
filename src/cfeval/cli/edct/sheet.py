"""Draw edits for people to label, and write the labelling sheet: an HTML page that works offline, and a CSV."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.edct.common import ScoreFiles
from cfeval.errors import InputError
from cfeval.io.arm_files import ArmFiles
from cfeval.io.atomic import ensure_writable, write_text
from cfeval.io.pictures import load
from cfeval.io.records import read_csv, write_csv
from cfeval.records.common import ImageRef
from cfeval.records.edct import Score
from cfeval.records.labels import KeyRow, edited_of
from cfeval.report.sheet import SheetItem, sheet_csv, sheet_hash, sheet_page
from cfeval.report.sheet_items import ArmRecords, candidates, sheet_item
from cfeval.studies.edct.sheet import Drawn, draw
from cfeval.tables.arms import arm_of, by_arm

Place = tuple[Path, ImageRef]


def _writable(out: Path) -> Path:
    ensure_writable(out)
    return out


def run(
    scores: ScoreFiles,
    results: Annotated[Path, typer.Option(help="Folder of the study's results.")] = Path("results/edct"),
    items: Annotated[int, typer.Option(min=1, max=2000, help="How many edits to draw at most.")] = 128,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 1,
    by_verdict: Annotated[
        bool, typer.Option("--by-verdict", help="Within an arm, draw as many rejected, faithful and unfaithful edits.")
    ] = False,
    shards: Annotated[int, typer.Option(min=1, max=999, help="Into how many files each stage is cut.")] = 1,
    out: Annotated[
        Path, typer.Option(callback=_writable, help="Sheet to write: OUT.html, OUT.csv and OUT.key.csv.")
    ] = Path("labels/sheet"),
) -> None:
    """Draw edits for people to label, and write the labelling sheet: an HTML page that works offline, and a CSV.

    Both are blind: they tell neither which arm an edit comes from nor what the tool made of it. OUT.key.csv does: keep
    it from those who label, and give it to `cfeval edct labels`.
    """
    grouped = by_arm(score for file in scores for score in read_csv(file, Score))
    files = {arm: ArmFiles(results, arm, shards) for arm in grouped}
    arms = {arm: _records(files[arm], rows) for arm, rows in grouped.items()}
    drawn = draw((one for records in arms.values() for one in candidates(records)), items, seed, by_verdict)
    if not drawn:
        raise InputError("no edit to label: no item of these score files was scored or rejected by a gate")
    shown = [sheet_item(arms[arm_of(one.score)], one.score) for one in drawn]
    places = {ref.sha256: (folder, ref) for one in files.values() for folder, ref in _pictures(one)}
    page = sheet_page(shown, lambda sha256: load(*places[sha256]))
    write_csv(Path(f"{out}.key.csv"), KeyRow, _key(drawn, shown))
    write_text(Path(f"{out}.csv"), sheet_csv(shown))
    write_text(Path(f"{out}.html"), page)
    print(f"{len(drawn)} edits: give {out}.html to those who label, and keep {out}.key.csv to yourself")


def _records(files: ArmFiles, scores: list[Score]) -> ArmRecords:
    return ArmRecords(
        scores=scores,
        samples={sample.id: sample for sample, _ in files.samples()},
        baselines=files.baselines(),
        instructions=files.instructions(),
        counterfactuals={(made.id, made.edit): made for made, _ in files.counterfactuals()},
        requeries=files.requeries(),
    )


def _pictures(files: ArmFiles) -> Iterator[Place]:
    """Every picture of an arm that a sheet may show, and where it lies."""
    for sample, folder in files.samples():
        yield folder, sample.image
    for made, folder in files.counterfactuals():
        yield from ((folder, ref) for ref in (made.image, *(one.image for one in made.tries)) if ref is not None)


def _key(drawn: list[Drawn], shown: list[SheetItem]) -> Iterator[KeyRow]:
    sheet = sheet_hash(shown)
    for number, (one, item) in enumerate(zip(drawn, shown, strict=True), start=1):
        yield KeyRow(
            **edited_of(one.score).model_dump(),
            sheet=sheet,
            item=number,
            asks=" ".join(item.asks),
            group=one.score.group,
            weight=one.weight,
            gate=one.gate,
        )
