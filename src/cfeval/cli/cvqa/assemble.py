"""Let drafts into a set that every check and, where people decide, every person lets pass; say why others stay out."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.common import Archive, Cut, Out, Shards
from cfeval.cli.cvqa.common import DraftsFiles, ReviewsFiles
from cfeval.cli.output import writable
from cfeval.errors import InputError
from cfeval.io import pictures
from cfeval.io.atomic import growing_text
from cfeval.io.decisions import read_decisions
from cfeval.io.indexed import Indexed
from cfeval.io.records import read_jsonl, record_line
from cfeval.io.sharded_files import whole_or_shards_of_all
from cfeval.io.shards import sharded_gallery
from cfeval.records.cvqa import CvqaBuild, Draft, Fate, Review
from cfeval.studies.cvqa.assembling import Assembly, assembled


def run(
    drafts: DraftsFiles,
    out: Out,
    fates: Annotated[
        Path, typer.Option("--fates", callback=writable, help="File to write: what became of every draft (JSONL).")
    ],
    reviews: ReviewsFiles = None,
    decisions: Annotated[
        Path | None, typer.Option(help="People's decisions (CSV); see `cfeval cvqa decisions`.")
    ] = None,
    people: Annotated[bool, typer.Option(help="Whether a person must have accepted each.")] = False,
    shards: Shards = 1,
    cut: Cut = None,
    archive: Archive = False,
) -> None:
    """Let drafts into a set that every check and, where people decide, every person lets pass; say why others stay out.

    A set that nothing has entered yet is an empty file.
    """
    files, reviewed = whole_or_shards_of_all(drafts, cut), whole_or_shards_of_all(reviews or (), cut)
    _refuse_loss(out, fates, [*files, *reviewed, *([decisions] if decisions else ())])
    known, said = Indexed(files, Draft), Indexed(reviewed, Review)
    decided = read_decisions(decisions, known) if decisions else {}
    done = ((file, one) for file in files for one in assembled(read_jsonl(file, Draft), said, decided, people))
    print(_counted(Counter(build.fate for build in _filed(out, fates, done, shards, archive))))


def _refuse_loss(out: Path, fates: Path, read: Iterable[Path]) -> None:
    """Nothing that is read may be written over, nor one of the two files over the other."""
    kept = {file.absolute() for file in read}
    for option, file, others in (("--out", out, kept), ("--fates", fates, kept | {out.absolute()})):
        if file.absolute() in others:
            raise InputError(f"{option}: {file} is named twice; choose another name")


def _filed(
    out: Path, fates: Path, done: Iterable[tuple[Path, Assembly]], shards: int, archive: bool
) -> Iterator[CvqaBuild]:
    """Files the pairs with their pictures and what became of every draft, and passes that on.

    Args:
        done: what came of the drafts, each with the file that it stands in.
    """
    with growing_text(fates) as add_fate, sharded_gallery(out, shards, archive) as add:
        for file, one in done:
            if pair := one.pair:
                picture = pictures.load(pictures.folder_of(file), pair.image)
                add(pair.id, pair, {pair.image.path: picture})
            add_fate(record_line(one.build))
            yield one.build


def _counted(fates: Counter[Fate]) -> str:
    left = ", ".join(f"{fate} {count}" for fate, count in sorted(fates.items()) if fate != "accepted")
    return f"{fates.total()} drafts: {fates['accepted']} accepted" + (f"; {left}" if left else "")
