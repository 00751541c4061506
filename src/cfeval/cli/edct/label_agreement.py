"""Make the agreement table: how far people agree about edits and scores, and the tool with them."""

from pathlib import Path
from typing import Annotated

import typer

from cfeval.cli.edct.common import How, ScoreFiles, interval_of
from cfeval.cli.output import TableOut, write_table
from cfeval.io.records import read_csv
from cfeval.records.edct import Score
from cfeval.records.edct_tables import Published
from cfeval.records.labels import Label, LabelAgreementRow
from cfeval.tables.edct_labels import rows, sheet


def run(
    scores: ScoreFiles,
    labels: Annotated[list[Path], typer.Option(help="Labels, as `cfeval edct labels` wrote them; may be repeated.")],
    out: TableOut,
    interval: How = "{}",
    reference: Annotated[
        list[Path] | None, typer.Option("--reference", help="Published figures (CSV); may be repeated.")
    ] = None,
) -> None:
    """Make the agreement table: how far people agree about edits and scores, and the tool with them.

    Labels count for every judge whose scores of the same edits are given. Where these are of one arm, its CCS over the
    items that nobody labelled is corrected for the judge's error.
    """
    said = [label for file in labels for label in read_csv(file, Label)]
    judged = [score for file in scores for score in read_csv(file, Score)]
    published = [line for file in reference or () for line in read_csv(file, Published)]
    found = rows(said, judged, interval_of(interval), published)
    write_table(out, LabelAgreementRow, found, sheet(found, published))
