"""Draw a contact sheet for each group: originals, counterfactuals, what changed (PNG)."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.common import Cut, Out
from cfeval.cli.vce.common import AllImages, picture_in
from cfeval.errors import InputError
from cfeval.io.gallery import gallery
from cfeval.io.indexed import Grouped, Indexed
from cfeval.io.sharded_files import whole_or_shards_of_all
from cfeval.records.vce import SheetRecord, SourceImage, VceRecord, VceScore
from cfeval.report.contact_items import GroupNames, Lane, file_name, sheet_of
from cfeval.report.contact_sheet import contact_sheet


def run(
    images: AllImages,
    counterfactuals: Annotated[
        list[Path],
        typer.Option(
            help="Counterfactuals (JSONL) with all their shards, pictures beside; may be repeated, a row a label."
        ),
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
    cut: Cut = None,
) -> None:
    """Draw a contact sheet for each group: originals, counterfactuals, what changed (PNG).

    OUT names the sheets, SOURCE--TARGET.png in the folder beside it.
    """
    for option, given in (("--scores", scores), ("--label", label)):
        if given and len(given) != len(counterfactuals):
            raise InputError(f"{option}: {len(given)} for {len(counterfactuals)} --counterfactuals; give one each")
    names = label or [path.stem for path in counterfactuals]
    lanes = [_Files(name, *_of(name, names, counterfactuals, scores or (), cut)) for name in dict.fromkeys(names)]
    originals = Indexed(whole_or_shards_of_all(images, cut), SourceImage)
    with gallery(out) as add:
        for group in dict.fromkeys(group for files in lanes for group in files.groups):
            drawn = sheet_of(
                group,
                [files.lane(group, originals) for files in lanes],
                originals,
                lambda source: picture_in(*originals.where(source.id)),
                most,
            )
            picture, path = contact_sheet(drawn, across), file_name(group)
            add(SheetRecord(source=group[0], target=group[1], image=picture.ref(path)), {path: picture})


def _of(
    name: str, names: Sequence[str], counterfactuals: Sequence[Path], scores: Sequence[Path], cut: int | None
) -> tuple[list[Path], list[Path]]:
    """The files of a row."""
    chosen = [place for place, other in enumerate(names) if other == name]
    made, told = ([files[place] for place in chosen if files] for files in (counterfactuals, scores))
    return whole_or_shards_of_all(made, cut), whole_or_shards_of_all(told, cut)


class _Files:
    """What the rows of one label are drawn from; the records of one group are held at a time."""

    def __init__(self, label: str, counterfactuals: Sequence[Path], scores: Sequence[Path]) -> None:
        self.label = label
        self.groups = Grouped(counterfactuals, VceRecord, lambda record: (record.source, record.target))
        self._made, self._scores = Indexed(counterfactuals, VceRecord), Indexed(scores, VceScore)

    def lane(self, group: GroupNames, originals: Collection[str]) -> Lane:
        """The rows of one group.

        Raises:
            InputError: a counterfactual is of an image that the originals do not have.
        """
        records = list(self.groups[group])
        for record in records:
            if record.source_image not in originals:
                raise InputError(
                    f"{self.label}: the counterfactual {record.id} is of the image {record.source_image}, which "
                    "--images does not have; give the images that it was made from"
                )
        return Lane(self.label, records, lambda record: picture_in(*self._made.where(record.id)), self._scores)
