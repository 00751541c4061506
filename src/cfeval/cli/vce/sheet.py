"""Draw a contact sheet for each group: originals, counterfactuals, what changed (PNG)."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.output import writable
from cfeval.errors import InputError
from cfeval.io import pictures
from cfeval.io.atomic import write_bytes
from cfeval.io.pictures import Picture
from cfeval.io.records import read_jsonl
from cfeval.records.common import ImageRef
from cfeval.records.vce import SourceImage, VceRecord, VceScore
from cfeval.report.contact_items import Lane, file_name, groups, sheet_of
from cfeval.report.contact_sheet import contact_sheet


def run(
    sources: Annotated[Path, typer.Option(help="Source images (JSONL); their pictures lie in the folder beside.")],
    counterfactuals: Annotated[
        list[Path],
        typer.Option(help="Counterfactuals (JSONL), pictures beside; may be repeated, a row each."),
    ],
    out: Annotated[Path, typer.Option(callback=writable, help="Folder to write: SOURCE--TARGET.png for each group.")],
    scores: Annotated[
        list[Path] | None, typer.Option(help="Their scores (JSONL), in the order of the counterfactuals.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="What each row is called, in the same order; else the file's name.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Images on a sheet, at most.")] = 18,
    across: Annotated[int, typer.Option(min=1, max=50, help="Images side by side.")] = 6,
) -> None:
    """Draw a contact sheet for each group: originals, counterfactuals, what changed (PNG)."""
    for option, given in (("--scores", scores), ("--label", label)):
        if given and len(given) != len(counterfactuals):
            raise InputError(f"{option}: {len(given)} for {len(counterfactuals)} --counterfactuals; give one each")
    names = label or [path.stem for path in counterfactuals]
    lanes = [
        Lane(
            name,
            list(read_jsonl(path, VceRecord)),
            _opener(path),
            {score.id: score for score in read_jsonl(scores[place], VceScore)} if scores else {},
        )
        for place, (name, path) in enumerate(zip(names, counterfactuals, strict=True))
    ]
    originals = {source.id: source for source in read_jsonl(sources, SourceImage)}
    _refuse_strangers(lanes, originals.keys(), sources)
    for group in groups(lanes):
        sheet = sheet_of(group, lanes, originals, _opener(sources), most)
        write_bytes(out / file_name(group), contact_sheet(sheet, across).png)


def _opener(records: Path) -> Callable[[SourceImage | VceRecord], Picture]:
    folder = pictures.folder_of(records)

    def open_one(record: SourceImage | VceRecord) -> Picture:
        assert isinstance(record.image, ImageRef), "only records with a picture are opened"
        return pictures.load(folder, record.image)

    return open_one


def _refuse_strangers(lanes: list[Lane], known: Collection[str], sources: Path) -> None:
    """InputError where a counterfactual is of an image that the sources do not have."""
    for lane in lanes:
        for record in lane.records:
            if record.source_image not in known:
                raise InputError(
                    f"{lane.label}: the counterfactual {record.id} is of the image {record.source_image}, which "
                    f"{sources} does not have; give the images that it was made from"
                )
