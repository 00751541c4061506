"""Have counterfactual questions written from original ones, in the paper's steps; nothing of them is checked yet."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.common import Archive, Offline, Out, Seed, Shards, build, heed
from cfeval.io.pictures import Picture
from cfeval.io.progress import track
from cfeval.io.samples import RawSample, as_record
from cfeval.io.shards import file_pictured
from cfeval.io.vqa_json import read_questions
from cfeval.records.cvqa import Draft
from cfeval.records.edct import Sample
from cfeval.studies.cvqa.drafts import NameOf, Skipped, drafts, in_coco

_OF_COCO = ("vqav2", "okvqa")
"""Data sets in VQA's layout, whose image ids are COCO's."""


def run(
    source: Annotated[str, typer.Option(help="Where the originals come from, as JSON: a data set and its options.")],
    builder: Annotated[str, typer.Option(help="Who writes, as JSON: its backend and options.")],
    items: Annotated[int, typer.Option(min=1, help="Originals that are looked at.")],
    seed: Seed,
    out: Out,
    shards: Shards = 1,
    offline: Offline = False,
    archive: Archive = False,
) -> None:
    """Have counterfactual questions written from original ones, in the paper's steps; nothing of them is checked yet.

    Originals are questions whose right answer is a number of `How many`, or yes or no; others are counted and left out.
    """
    heed(offline)
    writer = build("builders", builder, "--builder")
    raws = build("datasets", source, "--source").samples(items, seed)
    kept = _Kept(raws)
    skipped = Skipped()
    made = drafts(kept, writer, seed, skipped, _names(source))
    try:
        file_pictured(out, track(_pictured(made, kept), items, "drafts"), shards, archive)
    finally:
        for line in skipped.lines():  # also where all are, and there is nothing to file
            print(line, file=sys.stderr)


class _Kept:
    """Passes samples on and keeps their pictures until they are taken."""

    def __init__(self, raws: Iterable[RawSample]) -> None:
        self.raws = raws
        self.pictures: dict[str, Picture] = {}

    def __iter__(self) -> Iterator[Sample]:
        for raw in self.raws:
            self.pictures[raw.id] = raw.picture
            yield as_record(raw, Sample)

    def take(self, item: str) -> Picture:
        """The picture of a sample; those of samples before it, which were left out, are given up."""
        for other in list(self.pictures):
            picture = self.pictures.pop(other)
            if other == item:
                return picture
        raise KeyError(item)


def _pictured(made: Iterable[Draft], kept: _Kept) -> Iterator[tuple[str, Draft, Picture, str]]:
    for draft in made:
        yield draft.id, draft, kept.take(draft.id), draft.image.path


def _names(source: str) -> NameOf | None:
    """How images are named: as COCO names them where the originals are in VQA's layout."""
    spec = json.loads(source)
    return in_coco(read_questions(Path(spec["questions"])).split) if spec["backend"] in _OF_COCO else None
