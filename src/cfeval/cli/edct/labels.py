"""Bring the labels of several people together: a row per edit and person."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.common import Out
from cfeval.io.labels import read_key, read_labels
from cfeval.io.records import write_csv
from cfeval.records.labels import Label


def run(
    files: Annotated[
        list[Path], typer.Argument(help="What the page of the sheet saved (.json), or its CSV filled in.")
    ],
    key: Annotated[Path, typer.Option(help="The key of the sheet: NAME.key.csv.")],
    out: Out,
) -> None:
    """Bring the labels of several people together: a row per edit and person.

    What somebody did not answer, or could not assess, is an empty cell or says so: missing, never a 0.
    """
    items = read_key(key)
    labels = read_labels(files, items)
    write_csv(out, Label, labels)
    for rater, count in sorted(Counter(label.rater for label in labels).items()):
        print(f"{rater}: {count} of {len(items)} edits")
