"""The rows of the edct study's tables. Figures are plain numbers in [0, 1]; an empty cell: there is no such figure."""

from cfeval.records.common import Record
from cfeval.records.edct import Arm, Bit

Figure = float | None


class ArmRow(Arm):
    """A row of Table 1 or 2: one arm (edct_table1.csv, edct_table2.csv)."""

    n: int
    """Items."""
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
    """The mean over all n if every missing score had been 0."""
    ccs_max: Figure = None
    """The mean over all n if every missing score had been 1."""
    test_world: Bit = 0
    """1: the target is a built-in test model, which stands for no real one."""


class BenchRow(Arm):
    """A row of the 2026 protocol's table: one arm (edct_bench.csv)."""

    n: int
    """Items."""
    n_scored: int
    """Those of them with a score for at least one edit of their chain."""
    n_edits: int
    """Edits of all chains."""
    n_edits_scored: int
    ac: Figure = None
    """Means over the edits of a chain that have a score, then over items."""
    ac_lo: Figure = None
    ac_hi: Figure = None
    ef: Figure = None
    ef_lo: Figure = None
    ef_hi: Figure = None
    ccs: Figure = None
    ccs_lo: Figure = None
    ccs_hi: Figure = None
    ccs_graded: Figure = None
    ccs_graded_lo: Figure = None
    ccs_graded_hi: Figure = None
    n_graded: int = 0
    """Items that ccs_graded rests on."""
    ci: str = ""
    paper_ccs: Figure = None
    paper_ccs_graded: Figure = None
    accuracy: Figure = None
    edit_verified: Figure = None
    n_checked: int = 0
    missing: str = ""
    """Why edits have no score, with counts."""
    ccs_min: Figure = None
    ccs_max: Figure = None
    test_world: Bit = 0


class ControlRow(Arm):
    """CCS beside what moves when nothing, or nothing cited, was changed (edct_controls.csv)."""

    n: int
    n_scored: int
    ccs: Figure = None
    ccs_lo: Figure = None
    ccs_hi: Figure = None
    ccs_min: Figure = None
    ccs_max: Figure = None
    missing: str = ""
    n_null: int = 0
    """Items whose null edit was judged."""
    noise_answer: Figure = None
    """Share of null edits after which the answer was another one in substance."""
    noise_explanation: Figure = None
    """Share of null edits after which the explanation cited other evidence."""
    noise_floor: Figure = None
    """Share of null edits after which answer or explanation had moved."""
    noise_floor_lo: Figure = None
    noise_floor_hi: Figure = None
    noise_floor_min: Figure = None
    """The mean over all null edits if none of those without a verdict had moved anything."""
    noise_floor_max: Figure = None
    """The same if all of them had."""
    ccs_excess: Figure = None
    """Mean of ccs − noise over the items that have both."""
    ccs_excess_lo: Figure = None
    ccs_excess_hi: Figure = None
    n_placebo: int = 0
    """Items with a judged placebo edit."""
    completeness: Figure = None
    """Share of placebo edits, of evidence that the explanation does not cite, after which the answer stood."""
    completeness_lo: Figure = None
    completeness_hi: Figure = None
    completeness_min: Figure = None
    """The mean over all placebo edits if every one without a verdict had moved the answer."""
    completeness_max: Figure = None
    """The same if none of them had."""
    completeness_object: Figure = None
    """The same where an object was edited."""
    n_object: int = 0
    completeness_background: Figure = None
    """The same where the background was."""
    n_background: int = 0
    placebo_explanation: Figure = None
    """Share of placebo edits after which the explanation cited other evidence."""
    ci: str = ""
    missing_null: str = ""
    missing_placebo: str = ""
    test_world: Bit = 0


class Setting(Record):
    """All of an arm but its target and protocol."""

    dataset: str
    writer: str
    editor: str
    judge: str


class CalibrationRow(Setting):
    """A target whose faithfulness is known beforehand, under both protocols side by side (edct_calibration.csv)."""

    vlm: str
    share: float
    """Known share of items that the target answers unfaithfully."""
    n: int = 0
    n_scored: int = 0
    missing: str = ""
    expected: Figure = None
    """(1 − share) · ccs of the target whose share is 0, all else equal."""
    ccs: Figure = None
    """Of edct-2025."""
    ccs_lo: Figure = None
    ccs_hi: Figure = None
    ccs_min: Figure = None
    ccs_max: Figure = None
    difference: Figure = None
    """ccs − expected."""
    within_05: Bit | None = None
    """1 where the difference is at most .05 either way."""
    corrected: Figure = None
    """ccs corrected for the judge's error, which was measured on the other half of the images (Rogan–Gladen)."""
    corrected_lo: Figure = None
    corrected_hi: Figure = None
    covered: Bit | None = None
    """1 where 1 − share lies in the interval of the corrected ccs."""
    pcs: Figure = None
    ncc: Figure = None
    bench_n: int = 0
    bench_n_scored: int = 0
    bench_missing: str = ""
    bench_ccs: Figure = None
    """Of edct-bench-2026."""
    bench_ccs_lo: Figure = None
    bench_ccs_hi: Figure = None
    bench_ccs_min: Figure = None
    bench_ccs_max: Figure = None
    bench_graded: Figure = None
    bench_difference: Figure = None
    """bench_ccs − (1 − share): what the 2026 protocol cannot see stands here."""
    completeness: Figure = None
    """See `ControlRow.completeness`: what closes that blind spot."""
    n_placebo: int = 0
    """Items that it rests on."""
    accuracy: Figure = None
    ci: str = ""


class InstrumentRow(Setting):
    """How well a setting of the instrument tells what is known beforehand (edct_instrument.csv)."""

    protocol: str
    measured_on: str = ""
    """The targets, some never and some always unfaithful, that sensitivity and specificity were measured on."""
    n: int = 0
    """Items, those of every target counted."""
    n_scored: int = 0
    n_faithful: int = 0
    n_unfaithful: int = 0
    sensitivity: Figure = None
    """Share of the faithful target's items that scored CCS 1."""
    sensitivity_lo: Figure = None
    sensitivity_hi: Figure = None
    specificity: Figure = None
    """Share of the unfaithful target's items that scored CCS 0."""
    specificity_lo: Figure = None
    specificity_hi: Figure = None
    auc: Figure = None
    """Chance that an item of a faithful target has a higher CCS than one of an unfaithful target, ties ½."""
    auc_lo: Figure = None
    auc_hi: Figure = None
    auc_graded: Figure = None
    """The same by graded CCS."""
    error: Figure = None
    """Mean of |CCS − (1 − share)| over the targets of known share."""
    worst_error: Figure = None
    """The greatest of them."""
    worst_target: str = ""
    error_half: Figure = None
    """The same on the half of the images on which the judge's error is not measured."""
    error_corrected: Figure = None
    """The mean after correction for the judge's error."""
    n_targets: int = 0
    ci: str = ""
    missing: str = ""


class AgreementRow(Record):
    """How far judges agree about the same items (edct_agreement.csv)."""

    protocol: str
    score: str
    judges: str
    """Two judges, or all that judged the same arms."""
    n: int
    """Edits that were handed to them."""
    n_scored: int
    """Those that all of them scored."""
    agreement: Figure = None
    """Share of these on which all say the same."""
    agreement_lo: Figure = None
    agreement_hi: Figure = None
    agreement_min: Figure = None
    """The share of all n if each missing verdict had differed from the others'."""
    agreement_max: Figure = None
    """The same if it had not, where the others agree."""
    kappa: Figure = None
    """Of two judges Cohen's; of more Fleiss'."""
    kappa_lo: Figure = None
    kappa_hi: Figure = None
    alpha: Figure = None
    """Krippendorff's, over all edits that at least two of them scored."""
    alpha_lo: Figure = None
    alpha_hi: Figure = None
    n_alpha: int = 0
    ci: str = ""
    missing: str = ""
    """Why verdicts are missing, with counts."""


class ComparisonRow(Record):
    """Two targets on the same items (edct_comparisons.csv)."""

    dataset: str
    writer: str
    protocol: str
    editor: str
    judge: str
    vlm: str
    other: str
    n: int
    """Items that both were asked about."""
    n_scored: int
    """Those that both have a score for; all figures rest on them."""
    images: int
    """Of the scored items."""
    ccs: Figure = None
    """Of edct-2025."""
    other_ccs: Figure = None
    bench_ccs: Figure = None
    """Of edct-bench-2026."""
    bench_other_ccs: Figure = None
    difference: Figure = None
    """The target's CCS − the other's on these items."""
    difference_lo: Figure = None
    difference_hi: Figure = None
    difference_min: Figure = None
    """The difference over all n if every missing score had been at its worst for the target."""
    difference_max: Figure = None
    """The same at its best."""
    p_bootstrap: Figure = None
    """Two-sided, of the paired bootstrap."""
    p_mcnemar: Figure = None
    """Exact McNemar test, where every item has one score."""
    p_holm: Figure = None
    """p_mcnemar, or else p_bootstrap, adjusted by Holm over the table."""
    detectable: Figure = None
    """Smallest difference that these items would show with 80 % power."""
    ci: str = ""
    missing: str = ""
    """Why edits of either have no score, with counts."""
    test_world: Bit = 0
    """1: the target is a built-in test model."""
    other_test_world: Bit = 0


class VarianceRow(Record):
    """Where the variance of CCS comes from (edct_variance.csv)."""

    dataset: str
    protocol: str
    target: str
    source: str
    """writer, editor, judge, re-sampling, item, or the rest."""
    levels: int
    variance: Figure = None
    """On the scale of CCS, squared; empty for a source with one level."""
    share: Figure = None
    """Of the sum of all components."""
    n: int = 0
    """Items of all arms."""
    n_scored: int = 0
    """Those with a score."""
    missing: str = ""
    note: str = ""


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
