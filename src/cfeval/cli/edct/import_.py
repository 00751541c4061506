"""File own images and questions as samples, from a CSV or JSONL file or a folder of images."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.common import Archive, Out
from cfeval.io.own_data import read_own
from cfeval.io.samples import file_samples


def run(
    source: Annotated[Path, typer.Argument(help="A .csv or .jsonl file, or a folder of images.")],
    out: Out,
    question: Annotated[str, typer.Option(help="The question for every image that brings none.")] = "",
    archive: Archive = False,
) -> None:
    """File own images and questions as samples, from a CSV or JSONL file or a folder of images.

    Columns: image (path relative to the file), question; optional id, reference, kind. Images become RGB PNGs named by
    their content, turned as EXIF says; at most 50 million pixels. All rows are taken, or none.
    """
    file_samples(out, read_own(source, question), archive=archive)
    print(f"samples filed in {out}; name them in params.yaml: {{backend: samples, path: {out}}}")
