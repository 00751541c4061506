"""Rows of the table of repeated runs."""

from cfeval.records.common import Record
from cfeval.records.edct import Bit

Figure = float | None


class RepeatRow(Record):
    """A figure of one target over several runs of the same items (edct_repeats.csv)."""

    dataset: str
    target: str
    writer: str
    protocol: str
    editor: str
    judge: str
    score: str
    """A score of the protocol, ccs (their product) or ccs_graded."""
    runs: int
    """Those that have the figure."""
    mean: Figure = None
    """Of the runs' figures."""
    mean_lo: Figure = None
    mean_hi: Figure = None
    mean_min: Figure = None
    """The mean if every missing score of every run had been 0."""
    mean_max: Figure = None
    """The mean if every missing score of every run had been 1."""
    sd: Figure = None
    """Standard deviation of the runs' figures."""
    n: int = 0
    """Items of all runs."""
    n_scored: int = 0
    """Those that the figures rest on."""
    ci: str = ""
    note: str = ""
    missing: str = ""
    """Why edits have no score, with counts."""
    test_world: Bit = 0
    """1: the target is a built-in test model."""
