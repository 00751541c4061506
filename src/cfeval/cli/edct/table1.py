"""Make Table 1: targets side by side, mean PCS, NCC and CCS with intervals and what is missing."""

from cfeval.cli.edct.common import (
    Arms,
    How,
    Reference,
    ScoreFiles,
    TableOut,
    TestTargets,
    arms_of,
    from_json,
    interval_of,
    published_of,
    scores_of,
    write_table,
)
from cfeval.records.tables import ArmRow


def run(
    scores: ScoreFiles,
    arms: Arms,
    out: TableOut,
    interval: How = "{}",
    reference: Reference = None,
    test_targets: TestTargets = "[]",
) -> None:
    """Make Table 1: targets side by side, mean PCS, NCC and CCS with intervals and what is missing."""
    from cfeval.tables.edct_table1 import rows, sheet

    targets = from_json(test_targets, list[str], "--test-targets")
    found = rows(arms_of(arms), scores_of(scores), interval_of(interval), published_of(reference), targets)
    write_table(out, ArmRow, found, sheet(found))
