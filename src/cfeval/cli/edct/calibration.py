"""Make the calibration table: does CCS follow what is known of the built-in targets?"""

from typing import Annotated

import typer

from cfeval.cli.edct.common import (
    Arms,
    How,
    SomeScoreFiles,
    TableOut,
    arms_of,
    from_json,
    interval_of,
    scores_of,
    write_table,
)
from cfeval.records.tables import CalibrationRow


def run(
    arms: Arms,
    known: Annotated[str, typer.Option(help='Known unfaithful share by target, as JSON: {"mixed-25": 0.25}.')],
    out: TableOut,
    scores: SomeScoreFiles = None,
    interval: How = "{}",
) -> None:
    """Make the calibration table: does CCS follow what is known of the built-in targets?

    Without an arm it is an empty table.
    """
    from cfeval.tables.edct_calibration import rows, sheet

    shares = from_json(known, dict[str, float], "--known")
    found = rows(arms_of(arms, may_be_none=True), scores_of(scores), interval_of(interval), shares)
    write_table(out, CalibrationRow, found, sheet(found))
