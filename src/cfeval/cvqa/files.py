"""What the verbs of the study share: options, opening the images that the stages pass on."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from cfeval.core import images
from cfeval.core.cli_options import writable
from cfeval.core.errors import InputError
from cfeval.core.images import Image
from cfeval.core.records import ImageRef
from cfeval.core.text_files import CsvFile

R = TypeVar("R")
QuestionsFile = Annotated[
    Path,
    typer.Option("--questions", help="Pairs of questions (JSONL); their images lie in the folder or archive beside."),
]
AnswersFile = Annotated[Path, typer.Option("--answers", help="Answers (JSONL).")]
AnswersFiles = Annotated[
    list[Path], typer.Option("--answers", help="Answers (JSONL) with all their shards; may be repeated.")
]
DraftsFile = Annotated[
    Path, typer.Option("--drafts", help="Drafted questions (JSONL); their images lie in the folder or archive beside.")
]
DraftsFiles = Annotated[
    list[Path],
    typer.Option("--drafts", help="Drafted questions (JSONL) with all their shards, images beside; may be repeated."),
]
ReviewsFiles = Annotated[
    list[Path] | None,
    typer.Option("--reviews", help="Reviews of the drafts (JSONL) with all their shards; may be repeated."),
]
Results = Annotated[Path, typer.Option("--results", help="Folder of the study's results, such as results/cvqa.")]
TableFile = Annotated[
    Path | None,
    typer.Option(
        "--out",
        callback=lambda out: writable(out) if out else None,
        help="Table to write as well, without ending: OUT.csv, OUT.md and OUT.tex.",
    ),
]
# Rows that are left out and named one by one; of more, the rest is counted.
_SHOWN = 20


def opener(records: Path) -> Callable[[ImageRef], Image]:
    """How to open the images of a record file."""
    folder = images.folder_of(records)
    return lambda ref: images.load(folder, ref)


def name_unusable(lines: Sequence[str]) -> None:
    """Say on stderr which rows of a file were left out, a line each, and how many."""
    for line in lines[:_SHOWN]:
        print(f"left out: {line}", file=sys.stderr)
    if lines:
        print(f"{len(lines)} row{'s' * (len(lines) > 1)} left out", file=sys.stderr)


def usable(rows: CsvFile[R]) -> Iterator[R]:
    """The rows of a file that can be used; behind the last the others are named on stderr.

    Raises:
        InputError: there is no row that can be used.
    """
    none = True
    for row in rows:
        none = False
        yield row
    if none:
        first = f"; the first unusable row: {rows.faults[0]}" if rows.faults else ""
        raise InputError(f"{rows.path}: no row that can be used{first}")
    name_unusable(rows.faults)
