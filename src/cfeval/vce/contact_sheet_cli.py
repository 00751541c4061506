"""From the records of counterfactuals to contact sheets: one a group (source and target class)."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import Cut, Out
from cfeval.core.errors import InputError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.core.shards import atomic_records_with_images, whole_or_shards_of_all
from cfeval.core.streams import Grouped, RecordIndex
from cfeval.vce.contact_sheet import ContactSheet, Pixels, Shot, Strip, contact_sheet
from cfeval.vce.files import AllImages, image_in
from cfeval.vce.metrics.proximity import is_destroyed
from cfeval.vce.predictions import from_bytes
from cfeval.vce.records import ClassName, SheetRecord, SourceImage, VceCounterfactual, VceScore

GroupNames = tuple[ClassName, ClassName]
"""Source and target class."""


@dataclass(frozen=True)
class ContactRow:
    """One way in which counterfactuals were made: its label, its records and scores, how to open its images."""

    label: str
    records: Sequence[VceCounterfactual]
    open: Callable[[VceCounterfactual], Image]
    scores: Mapping[str, VceScore] = field(default_factory=dict)


def file_name(group: GroupNames) -> str:
    """What the sheet of a group is called: `red-circle--blue-circle.png`."""
    return "--".join(re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-") or "class" for name in group) + ".png"


def sheet_of(
    group: GroupNames,
    lanes: Sequence[ContactRow],
    sources: Mapping[str, SourceImage],
    open_source: Callable[[SourceImage], Image],
    most: int,
) -> ContactSheet:
    """The sheet of a group: its images in the order of their numbers, at most so many, and a note where more exist.

    Args:
        lanes: rows of counterfactuals, one a lane and repeat.
    """
    by_lane = [[record for record in lane.records if (record.source, record.target) == group] for lane in lanes]
    ids = sorted(
        {r.source_image for records in by_lane for r in records}, key=lambda name: (sources[name].number, name)
    )
    rows = list(_rows(lanes, by_lane))
    strips = tuple(
        Strip(
            original := open_source(sources[name]).pixels,
            _before(sources[name], [lane.scores.get(records[name].id) for _, lane, records in rows if name in records]),
            tuple(_shot(lane, records.get(name), original) for _, lane, records in rows),
        )
        for name in ids[:most]
    )
    note = f"The first {most} of {len(ids)} images; all others are in the record files." if len(ids) > most else ""
    labels = tuple(label for label, *_ in rows)
    return ContactSheet(f"{group[0]} → {group[1]}", _subtitle(lanes, by_lane, len(ids)), labels, strips, note)


def _rows(
    lanes: Sequence[ContactRow], by_lane: Sequence[Sequence[VceCounterfactual]]
) -> Iterator[tuple[str, ContactRow, dict[str, VceCounterfactual]]]:
    """A row a lane and repeat: its label, the lane, its records by source image."""
    for lane, records in zip(lanes, by_lane, strict=True):
        repeats = sorted({record.repeat for record in records})
        for repeat in repeats:
            label = f"{lane.label}, draw {repeat + 1}" if len(repeats) > 1 else lane.label
            yield label, lane, {record.source_image: record for record in records if record.repeat == repeat}


def _before(source: SourceImage, scores: Sequence[VceScore | None]) -> tuple[str, ...]:
    names = {score.before for score in scores if score and score.before}
    return source.label, *(f"seen as {name}" for name in sorted(names))


def _shot(lane: ContactRow, record: VceCounterfactual | None, original: Pixels) -> Shot:
    if record is None:
        return Shot(None, ("not asked for",))
    if record.status != Status.OK or record.image is None:
        return Shot(None, (record.status.value.replace("_", " "),))
    pixels = lane.open(record).pixels
    if pixels.shape != original.shape:
        return Shot(None, (f"{pixels.shape[1]} × {pixels.shape[0]} pixels",))
    score = lane.scores.get(record.id)
    if score is None:
        return Shot(pixels, ("not scored",))
    if score.status != Status.OK or score.predicted is None:
        return Shot(pixels, (f"not scored: {score.status.value.replace('_', ' ')}",))
    lines = [score.predicted]
    lines += [f"p(target) {score.p_target:.2f}"] if score.p_target is not None else []
    agreed = sum(answer == record.target for answer in score.oracles.values())
    lines += [f"oracles: {agreed} of {len(score.oracles)}"] if score.oracles else []
    if score.predicted != record.target:
        return Shot(pixels, tuple(lines), "wrong")
    before, after = (from_bytes(image.transpose(2, 0, 1))[None] for image in (original, pixels))
    if not agreed and is_destroyed(before, after)[0]:
        return Shot(pixels, (*lines, "image destroyed"))
    return Shot(pixels, tuple(lines), "right")


def _subtitle(lanes: Sequence[ContactRow], by_lane: Sequence[Sequence[VceCounterfactual]], images: int) -> str:
    """How many images, and of each lane how many hit the target and what became of the others."""
    texts = [f"{images} {'image' if images == 1 else 'images'}"]
    for lane, records in zip(lanes, by_lane, strict=True):
        seen = Counter(
            score.predicted == score.target
            for record in records
            if (score := lane.scores.get(record.id)) and score.status == Status.OK
        )
        failed = Counter(record.status.value.replace("_", " ") for record in records if record.status != Status.OK)
        parts = [f"{seen[True]} of {seen.total()} seen as the target"] if seen else []
        parts += [f"{count} {status}" for status, count in sorted(failed.items())]
        texts += [f"{lane.label}: {', '.join(parts)}"] if parts else []
    return "   ·   ".join(texts)


def run(
    images: AllImages,
    counterfactuals: Annotated[
        list[Path],
        typer.Option(
            help="Counterfactuals (JSONL) with all their shards, images beside; may be repeated, a row a label."
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
    lanes = [_Files(name, *_files_of(name, names, counterfactuals, scores or (), cut)) for name in dict.fromkeys(names)]
    originals = RecordIndex(whole_or_shards_of_all(images, cut), SourceImage)
    with atomic_records_with_images(out) as add:
        for group in dict.fromkeys(group for files in lanes for group in files.groups):
            drawn = sheet_of(
                group,
                [files.lane(group, originals) for files in lanes],
                originals,
                lambda source: image_in(*originals.where(source.id)),
                most,
            )
            image, path = contact_sheet(drawn, across), file_name(group)
            add(SheetRecord(source=group[0], target=group[1], image=image.ref(path)), {path: image})


def _files_of(
    name: str, names: Sequence[str], counterfactuals: Sequence[Path], scores: Sequence[Path], cut: int | None
) -> tuple[list[Path], list[Path]]:
    chosen = [place for place, other in enumerate(names) if other == name]
    made, scored = ([files[place] for place in chosen if files] for files in (counterfactuals, scores))
    return whole_or_shards_of_all(made, cut), whole_or_shards_of_all(scored, cut)


class _Files:
    """What the rows of one label are drawn from; the records of one group are held at a time."""

    def __init__(self, label: str, counterfactuals: Sequence[Path], scores: Sequence[Path]) -> None:
        self.label = label
        self.groups = Grouped(counterfactuals, VceCounterfactual, lambda record: (record.source, record.target))
        self._made, self._scores = RecordIndex(counterfactuals, VceCounterfactual), RecordIndex(scores, VceScore)

    def lane(self, group: GroupNames, originals: Collection[str]) -> ContactRow:
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
        return ContactRow(self.label, records, lambda record: image_in(*self._made.where(record.id)), self._scores)
