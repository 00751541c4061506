"""From the records of counterfactuals to contact sheets: one a group (source and target class)."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cfeval.io.pictures import Picture
from cfeval.records.common import Status
from cfeval.records.vce import ClassName, SourceImage, VceRecord, VceScore
from cfeval.report.contact_sheet import ContactSheet, Shot, Strip

GroupNames = tuple[ClassName, ClassName]
"""Source and target class."""


@dataclass(frozen=True)
class Lane:
    """One way in which counterfactuals were made: its label, its records and scores, how to open its pictures."""

    label: str
    records: Sequence[VceRecord]
    open: Callable[[VceRecord], Picture]
    scores: Mapping[str, VceScore] = field(default_factory=dict)


def file_name(group: GroupNames) -> str:
    """What the sheet of a group is called: `red-circle--blue-circle.png`."""
    return "--".join(re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-") or "class" for name in group) + ".png"


def sheet_of(
    group: GroupNames,
    lanes: Sequence[Lane],
    sources: Mapping[str, SourceImage],
    open_source: Callable[[SourceImage], Picture],
    most: int,
) -> ContactSheet:
    """The sheet of a group: its images in the order of their numbers, at most so many, and a note where more exist.

    Args:
        lanes: rows of counterfactuals, one a lane and repeat.
    """
    of = [[record for record in lane.records if (record.source, record.target) == group] for lane in lanes]
    ids = sorted({r.source_image for records in of for r in records}, key=lambda name: (sources[name].number, name))
    rows = list(_rows(lanes, of))
    strips = tuple(
        Strip(
            original := open_source(sources[name]).pixels,
            _before(sources[name], [lane.scores.get(records[name].id) for _, lane, records in rows if name in records]),
            tuple(_shot(lane, records.get(name), original.shape) for _, lane, records in rows),
        )
        for name in ids[:most]
    )
    note = f"The first {most} of {len(ids)} images; all others are in the record files." if len(ids) > most else ""
    labels = tuple(label for label, *_ in rows)
    return ContactSheet(f"{group[0]} → {group[1]}", _subtitle(lanes, of, len(ids)), labels, strips, note)


def _rows(lanes: Sequence[Lane], of: Sequence[Sequence[VceRecord]]) -> Iterator[tuple[str, Lane, dict[str, VceRecord]]]:
    """A row a lane and repeat: its label, the lane, its records by source image."""
    for lane, records in zip(lanes, of, strict=True):
        repeats = sorted({record.repeat for record in records})
        for repeat in repeats:
            label = f"{lane.label}, draw {repeat + 1}" if len(repeats) > 1 else lane.label
            yield label, lane, {record.source_image: record for record in records if record.repeat == repeat}


def _before(source: SourceImage, scores: Sequence[VceScore | None]) -> tuple[str, ...]:
    said = {score.before for score in scores if score and score.before}
    return source.label, *(f"seen as {name}" for name in sorted(said))


def _shot(lane: Lane, record: VceRecord | None, shape: tuple[int, ...]) -> Shot:
    if record is None:
        return Shot(None, ("not asked for",))
    if record.status != Status.OK or record.image is None:
        return Shot(None, (record.status.value.replace("_", " "),))
    pixels = lane.open(record).pixels
    if pixels.shape != shape:
        return Shot(None, (f"{pixels.shape[1]} × {pixels.shape[0]} pixels",))
    score = lane.scores.get(record.id)
    if score is None:
        return Shot(pixels, ("not scored",))
    if score.status != Status.OK or score.predicted is None:
        return Shot(pixels, (f"not scored: {score.status.value.replace('_', ' ')}",))
    lines = [score.predicted]
    lines += [f"p(target) {score.p_target:.2f}"] if score.p_target is not None else []
    agreed = sum(said == record.target for said in score.oracles.values())
    lines += [f"oracles: {agreed} of {len(score.oracles)}"] if score.oracles else []
    return Shot(pixels, tuple(lines), "right" if score.predicted == record.target else "wrong")


def _subtitle(lanes: Sequence[Lane], of: Sequence[Sequence[VceRecord]], images: int) -> str:
    """How many images, and of each lane how many hit the target and what became of the others."""
    told = [f"{images} {'image' if images == 1 else 'images'}"]
    for lane, records in zip(lanes, of, strict=True):
        seen = Counter(
            score.predicted == score.target
            for record in records
            if (score := lane.scores.get(record.id)) and score.status == Status.OK
        )
        failed = Counter(record.status.value.replace("_", " ") for record in records if record.status != Status.OK)
        parts = [f"{seen[True]} of {seen.total()} seen as the target"] if seen else []
        parts += [f"{count} {status}" for status, count in sorted(failed.items())]
        told += [f"{lane.label}: {', '.join(parts)}"] if parts else []
    return "   ·   ".join(told)
