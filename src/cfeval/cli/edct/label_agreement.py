"""Make the agreement table: how far people agree about edits and scores, and the tool with them."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.edct.common import (
    How,
    Reference,
    ScoreFiles,
    TableOut,
    interval_of,
    published_of,
    scores_of,
    write_table,
)
from cfeval.io.records import read_csv
from cfeval.records.labels import AgreementRow, Label


def run(
    scores: ScoreFiles,
    labels: Annotated[list[Path], typer.Option(help="Labels, as `cfeval edct labels` wrote them; may be repeated.")],
    out: TableOut,
    interval: How = "{}",
    reference: Reference = None,
) -> None:
    """Make the agreement table: how far people agree about edits and scores, and the tool with them.

    Labels count for every judge whose scores of the same edits are given.
    """
    from cfeval.tables.edct_labels import rows, sheet

    said = [label for file in labels for label in read_csv(file, Label)]
    published = published_of(reference)
    found = rows(said, scores_of(scores), interval_of(interval), published)
    write_table(out, AgreementRow, found, sheet(found, published))
