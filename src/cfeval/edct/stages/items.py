"""The samples of a study: drawn from a dataset, or a user's own images and questions."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.cli_options import Archive, Out, Seed, Shards, build
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_jsonl
from cfeval.core.record import MOST_SHARDS
from cfeval.datasets.files import Files, Plugin
from cfeval.datasets.sample import Part, Sample, file_samples, left_out_by, name_left_out, samples_of


def run(
    dataset: Annotated[str, typer.Option(help="The dataset, as JSON: its plugin and options.")],
    items: Annotated[int, typer.Option(min=1, help="How many items.")],
    seed: Seed,
    out: Out,
    shards: Shards = 1,
    shard: Annotated[
        int | None,
        typer.Option(min=0, max=MOST_SHARDS, help="File only this shard, from 0; OUT is its file."),
    ] = None,
    archive: Archive = False,
) -> None:
    """Draw the samples of a dataset and file them, cut into shards by a hash of the id."""
    if shard is not None and not shard < shards:
        raise InputError(f"--shard: {shard} is none of {shards} shards; they count from 0")
    part = Part() if shard is None else Part(shard, shards)
    source = build("datasets", dataset, "--dataset", by_item=part.shards > 1)
    drawn = samples_of(source, items, seed, part)
    cut = shards if shard is None else 1
    file_samples(out, drawn, cut, archive, lambda: left_out_by(source), may_be_empty=part.shards > 1)
    name_left_out(left_out_by(source))


def run_import(
    source: Annotated[Path, typer.Argument(help="A .csv, .tsv or .jsonl file, or a folder of images.")],
    out: Out,
    question: Annotated[str, typer.Option(help="The question for every image that brings none.")] = "",
    archive: Archive = False,
    recursive: Annotated[bool, typer.Option("--recursive", help="Also the images in subfolders.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse an image that cannot be read.")] = False,
    allow_outside: Annotated[
        bool, typer.Option("--allow-outside", help="Also images outside the folder, which rows or links name.")
    ] = False,
) -> None:
    """File own images and questions as samples, from a CSV or JSONL file or a folder of images.

    Columns: image (path relative to the file), question; optional id, reference, kind. Images become RGB PNGs named by
    their content, turned as EXIF says; at most 50 million pixels. Images that cannot be read are listed and left out.
    """
    options = Plugin(
        path=str(source), question=question, recursive=recursive, strict=strict, allow_outside=allow_outside
    )
    own = Files(options)
    file_samples(out, own.every(), archive=archive, left_out=lambda: own.left_out)
    name_left_out(own.left_out)
    filed = list(read_jsonl(out, Sample))
    images = len({sample.image.sha256 for sample in filed})
    print(
        f"filed in {out}: items {len(filed)}, images {images}; name the file in params.yaml: "
        f"{{plugin: samples, path: {out}}}"
    )
