"""Draw a contact sheet for each group: originals, counterfactuals, what changed (PNG)."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.common import Out
from cfeval.cli.vce.common import pictures_by_id
from cfeval.errors import InputError
from cfeval.io import pictures
from cfeval.io.gallery import gallery
from cfeval.io.records import read_jsonl
from cfeval.records.vce import SheetRecord, SourceImage, VceRecord, VceScore
from cfeval.report.contact_items import Lane, file_name, groups, sheet_of
from cfeval.report.contact_sheet import contact_sheet


def run(
    images: Annotated[list[Path], typer.Option(help="Source images (JSONL), pictures beside; once for each shard.")],
    counterfactuals: Annotated[
        list[Path],
        typer.Option(help="Counterfactuals (JSONL), pictures beside; may be repeated, a row for each label."),
    ],
    out: Out,
    scores: Annotated[
        list[Path] | None, typer.Option(help="Their scores (JSONL), in the order of the counterfactuals.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="What each row is called, in the same order; equal ones are joined. Else the file's name."),
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Images on a sheet, at most.")] = 18,
    across: Annotated[int, typer.Option(min=1, max=50, help="Images side by side.")] = 6,
) -> None:
    """Draw a contact sheet for each group: originals, counterfactuals, what changed (PNG).

    OUT names the sheets, SOURCE--TARGET.png in the folder beside it.
    """
    for option, given in (("--scores", scores), ("--label", label)):
        if given and len(given) != len(counterfactuals):
            raise InputError(f"{option}: {len(given)} for {len(counterfactuals)} --counterfactuals; give one each")
    names = label or [path.stem for path in counterfactuals]
    lanes = [_lane(name, *_of(name, names, counterfactuals, scores or ())) for name in dict.fromkeys(names)]
    originals = {source.id: source for file in images for source in read_jsonl(file, SourceImage)}
    places = pictures_by_id(images, SourceImage)
    _refuse_strangers(lanes, originals.keys(), images)
    with gallery(out) as add:
        for group in groups(lanes):
            drawn = sheet_of(group, lanes, originals, lambda source: pictures.load(*places[source.id]), most)
            picture, path = contact_sheet(drawn, across), file_name(group)
            add(SheetRecord(source=group[0], target=group[1], image=picture.ref(path)), {path: picture})


def _of(
    name: str, names: Sequence[str], counterfactuals: Sequence[Path], scores: Sequence[Path]
) -> tuple[list[Path], list[Path]]:
    """The files of a row."""
    chosen = [place for place, other in enumerate(names) if other == name]
    return [counterfactuals[place] for place in chosen], [scores[place] for place in chosen if scores]


def _lane(name: str, counterfactuals: Sequence[Path], scores: Sequence[Path]) -> Lane:
    records = [record for file in counterfactuals for record in read_jsonl(file, VceRecord)]
    places = pictures_by_id(counterfactuals, VceRecord)
    told = {score.id: score for file in scores for score in read_jsonl(file, VceScore)}
    return Lane(name, records, lambda record: pictures.load(*places[record.id]), told)


def _refuse_strangers(lanes: Sequence[Lane], known: Collection[str], images: Sequence[Path]) -> None:
    """InputError where a counterfactual is of an image that the sources do not have."""
    for lane in lanes:
        for record in lane.records:
            if record.source_image not in known:
                raise InputError(
                    f"{lane.label}: the counterfactual {record.id} is of the image {record.source_image}, which "
                    f"{' + '.join(map(str, images))} does not have; give the images that it was made from"
                )
