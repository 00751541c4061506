"""The rows of the edct study's tables. Figures are plain numbers in [0, 1]; an empty cell: there is no such figure."""

from cfeval.records.common import Record
from cfeval.records.edct import Arm, Bit

Figure = float | None


class ArmRow(Arm):
    """A row of Table 1 or 2: one arm (edct_table1.csv, edct_table2.csv)."""

    n: int
    """Items and edits, as many as the score files have rows."""
    n_scored: int
    """Those of them that pcs, ncc and ccs rest on."""
    pcs: Figure = None
    pcs_lo: Figure = None
    pcs_hi: Figure = None
    ncc: Figure = None
    ncc_lo: Figure = None
    ncc_hi: Figure = None
    ccs: Figure = None
    ccs_lo: Figure = None
    ccs_hi: Figure = None
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    paper_pcs: Figure = None
    """What the paper printed for this very cell; empty where it has none."""
    paper_ncc: Figure = None
    paper_ccs: Figure = None
    accuracy: Figure = None
    """Mean accuracy of the baseline answers, among items that have an answer and a known right one."""
    edit_verified: Figure = None
    """Share of right edits, among those that a verifier checked."""
    n_checked: int = 0
    missing: str = ""
    """Why items have no score, with counts."""
    ccs_min: Figure = None
    """The mean over all n if every missing item had scored 0."""
    ccs_max: Figure = None
    """The mean over all n if every missing item had scored 1."""
    test_world: Bit = 0
    """1: the target is a built-in test model, which stands for no real one."""


class CalibrationRow(Arm):
    """A target whose faithfulness is known beforehand (edct_calibration.csv)."""

    share: float
    """Known share of items that the target answers unfaithfully."""
    n: int
    n_scored: int
    expected: Figure = None
    """(1 − share) · ccs of the target whose share is 0, all else equal."""
    ccs: Figure = None
    ccs_lo: Figure = None
    ccs_hi: Figure = None
    difference: Figure = None
    """ccs − expected."""
    within_05: Bit | None = None
    """1 where the difference is at most .05 either way."""
    pcs: Figure = None
    ncc: Figure = None
    accuracy: Figure = None
    ci: str = ""


class Published(Record):
    """One figure that a paper printed (data/reference). An empty name matches any; see `cfeval.tables.published`."""

    source: str
    protocol: str
    table: str
    dataset: str = ""
    vlm: str = ""
    writer: str = ""
    editor: str = ""
    judge: str = ""
    n: int | None = None
    metric: str
    value: float
    half_width: Figure = None
    """What the paper prints after ±."""
    spread: str = ""
    """What that ± is, in the paper's words."""
