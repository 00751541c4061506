"""Make Table 2: one target under several judges and editors, with intervals and what is missing."""

from cfeval.cli.edct.common import (
    Arms,
    How,
    Reference,
    SomeScoreFiles,
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
    arms: Arms,
    out: TableOut,
    scores: SomeScoreFiles = None,
    interval: How = "{}",
    reference: Reference = None,
    test_targets: TestTargets = "[]",
) -> None:
    """Make Table 2: one target under several judges and editors, with intervals and what is missing.

    Without an arm it is an empty table.
    """
    from cfeval.tables.edct_table2 import rows, sheet

    shown, targets = arms_of(arms, may_be_none=True), from_json(test_targets, list[str], "--test-targets")
    found = rows(shown, scores_of(scores), interval_of(interval), published_of(reference), targets)
    write_table(out, ArmRow, found, sheet(found))
