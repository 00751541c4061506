"""Let drafts into a set that every check and, where people decide, every person lets pass; say why others stay out."""

from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.common import Out, Shards
from cfeval.cli.cvqa.common import DraftsFiles, ReviewsFiles
from cfeval.cli.output import writable
from cfeval.errors import InputError
from cfeval.io import pictures
from cfeval.io.decisions import read_decisions
from cfeval.io.gallery import gallery
from cfeval.io.pictures import Picture
from cfeval.io.records import read_jsonl, write_jsonl
from cfeval.io.shards import shard_files, shard_of
from cfeval.records.cvqa import CvqaBuild, Draft, Pair, Review
from cfeval.studies.cvqa.assembling import assembled


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
) -> None:
    """Let drafts into a set that every check and, where people decide, every person lets pass; say why others stay out.

    A set that nothing has entered yet is an empty file.
    """
    _refuse_loss(out, fates, [*drafts, *(reviews or ()), *([decisions] if decisions else ())])
    folder_of = {draft.id: file for file in drafts for draft in read_jsonl(file, Draft)}
    known = {draft.id: draft for file in drafts for draft in read_jsonl(file, Draft)}
    said = {review.id: review for file in reviews or () for review in read_jsonl(file, Review)}
    decided = read_decisions(decisions, known) if decisions else {}
    done = list(assembled(known.values(), said, decided, people))
    taken = [one.pair for one in done if one.pair is not None]
    _file(out, ((pair, _picture(folder_of[pair.id], pair)) for pair in taken), shards)
    write_jsonl(fates, [one.build for one in done])
    print(_counted([one.build for one in done]))


def _refuse_loss(out: Path, fates: Path, read: Iterable[Path]) -> None:
    """Nothing that is read may be written over, nor one of the two files over the other."""
    kept = {file.absolute() for file in read}
    for option, file, others in (("--out", out, kept), ("--fates", fates, kept | {out.absolute()})):
        if file.absolute() in others:
            raise InputError(f"{option}: {file} is named twice; choose another name")


def _picture(drafts: Path, pair: Pair) -> Picture:
    return pictures.load(pictures.folder_of(drafts), pair.image)


def _file(out: Path, taken: Iterable[tuple[Pair, Picture]], shards: int) -> None:
    with ExitStack() as stack:
        add = [stack.enter_context(gallery(file)) for file in shard_files(out, shards)]
        for pair, picture in taken:
            add[shard_of(pair.id, shards)](pair, {pair.image.path: picture})


def _counted(builds: list[CvqaBuild]) -> str:
    fates = Counter(build.fate for build in builds)
    left = ", ".join(f"{fate} {count}" for fate, count in sorted(fates.items()) if fate != "accepted")
    return f"{len(builds)} drafts: {fates['accepted']} accepted" + (f"; {left}" if left else "")
