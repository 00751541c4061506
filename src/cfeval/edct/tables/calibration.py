"""Calibration: do the figures follow what is known of the built-in targets? And how well does each setting of the
instrument tell what is known: the judge's error, and what gate, panel and correction buy. No paper has it.

CCS should equal (1 − p) · CCS of the target with p = 0, all else equal, while accuracy says nothing. Scores of the two
protocols stand side by side, never in one column. The error of a judge is measured on one half of the images and the
correction applied to the other half, so that neither sees the other's chance.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from cfeval.core.records import Binary, Record
from cfeval.core.sampling import derive_seed
from cfeval.edct.protocols.rules import EDCT_2025, EDCT_BENCH_2026, UNCITED_EDIT
from cfeval.edct.records import Condition
from cfeval.edct.tables.conditions import (
    CitationRate,
    Dataset,
    Editor,
    Judge,
    Protocol,
    StrictCcs,
    Writer,
    edct_table,
    name_cell,
)
from cfeval.edct.tables.faithfulness import completeness, completeness_cell, is_empty
from cfeval.edct.tables.scores import (
    Row,
    TableData,
    accuracy,
    bounds,
    cited,
    counts,
    missing,
    n_items,
    scored,
    values,
)
from cfeval.report.tables import (
    TEST_WORLD_NOTE,
    Bounded,
    Estimated,
    Figure,
    Figures,
    Heading,
    Methods,
    TableRow,
    cell,
    figures_of,
    interval_methods,
    intervals,
    scored_cell,
    varying,
)
from cfeval.stats.estimates import DECIMALS, Estimate
from cfeval.stats.intervals import ItemScore, estimate, mean, mean_of, rounded
from cfeval.stats.misclassification import JudgeError, auc_interval, judge_error, rogan_gladen
from cfeval.stats.proportions import share, wilson

SETTING = ("dataset", "writer", "editor", "judge")
TOLERANCE = 0.05
NO_CONDITION_NOTE = (
    "Empty: params.yaml names no condition of known share for this table (edct.tables.calibration, edct.known)."
)
_YES = {1: "yes", 0: "no", None: ""}


@dataclass(frozen=True)
class KnownSetting:
    """The conditions of one setting of the instrument by target, with the shares that are known of these."""

    conditions: Mapping[str, Condition]
    material: TableData

    def scores(self, vlm: str) -> Sequence[Row]:
        """The scores of a target."""
        return self.material.of(self.conditions[vlm])

    def share(self, vlm: str) -> float:
        """The known share of items that a target answers unfaithfully."""
        return self.material.known[vlm]

    def targets(self, share: float) -> list[str]:
        """The targets of a known share."""
        return [vlm for vlm in self.conditions if self.share(vlm) == share]

    @cached_property
    def half_error(self) -> JudgeError:
        """The judge's error on the measuring half of the images."""
        return error_of(self, half=True)

    @property
    def measured_on(self) -> list[str]:
        """The targets on which the judge's error is measured."""
        return [vlm for vlm in self.material.judge_error if vlm in self.conditions]


def settings(conditions: Sequence[Condition], material: TableData) -> list[KnownSetting]:
    """The settings of some conditions, in their order; targets of which nothing is known are left aside."""
    by_setting: dict[Condition, dict[str, Condition]] = defaultdict(dict)
    for condition in dict.fromkeys(conditions):
        if condition.vlm in material.known:
            by_setting[condition.model_copy(update={"vlm": ""})][condition.vlm] = condition
    return [KnownSetting(by_target, material) for by_target in by_setting.values()]


def for_measuring(value: ItemScore) -> bool:
    """Whether an item's image is in the half on which the judge's error is measured."""
    return derive_seed(0, value.cluster, "judge error") % 2 == 0


def error_of(setting: KnownSetting, half: bool = False) -> JudgeError:
    """Sensitivity and specificity of CCS as a sign of faithfulness, on all items or on the measuring half.

    An item of several edits is taken for faithful where all of them scored 1.
    """
    judged: list[float] = []
    truth: list[float] = []
    groups: list[str] = []
    for vlm in setting.measured_on:
        for value in values(setting.scores(vlm), "ccs"):
            if not half or for_measuring(value):
                judged.append(float(value.value == 1))
                truth.append(float(setting.share(vlm) == 0))
                groups.append(value.cluster)
    return judge_error(judged, truth, groups)


def for_correcting(setting: KnownSetting, vlm: str) -> list[ItemScore]:
    """A target's CCS on the half of the images on which the judge's error is not measured."""
    return [value for value in values(setting.scores(vlm), "ccs") if not for_measuring(value)]


def corrected_ccs(setting: KnownSetting, vlm: str) -> Estimate:
    """CCS of a target corrected for the judge's error: the share of items that are faithful (Rogan and Gladen 1978)."""
    rest = for_correcting(setting, vlm)
    if not rest:
        return Estimate(None, note="no item is left for it")
    observed = share([float(value.value == 1) for value in rest], [value.cluster for value in rest])
    return rogan_gladen(observed, setting.half_error, setting.material.how.level)


class Setting(Record):
    """All of a condition but its target and protocol."""

    dataset: Dataset
    writer: Writer
    editor: Editor
    judge: Judge


def missing_cell(row: Any) -> str:
    """Why scores are missing, under either protocol."""
    gone = {"2025": row.missing, "2026": row.bench_missing}
    return "; ".join(f"{name}: {why}" for name, why in gone.items() if why)


class CalibrationRow(Setting, TableRow):
    """A target whose faithfulness is known beforehand, under both protocols side by side."""

    vlm: Annotated[str, Heading("Target", lambda row: f"{row.vlm} †")]
    """The target."""
    share: Annotated[float, Heading("p", lambda row: f"{row.share:g}")]
    """Known share of items that the target answers unfaithfully."""
    n: int = 0
    """Items under edct-2025."""
    n_scored: Annotated[int, Heading("Scored", lambda row: scored_cell(row) if row.n else "")] = 0
    """Those of them that the figures of edct-2025 rest on."""
    missing: Annotated[str, Heading("Missing", missing_cell, after="accuracy")] = ""
    """Why they have no score, with counts."""
    expected: Annotated[Figure, Heading("Expected", after="ccs")] = None
    """(1 − share) · ccs of the target whose share is 0, all else equal."""
    ccs: Annotated[Bounded, Heading("CCS")] = None
    """Of edct-2025."""
    strict_ccs: StrictCcs = None
    citation_rate: CitationRate = None
    difference: Figure = None
    """ccs − expected."""
    within_05: Annotated[Binary | None, Heading("Within .05", lambda row: _YES[row.within_05])] = None
    """1 where the difference is at most .05 either way."""
    corrected: Annotated[Estimated, Heading("Corrected CCS")] = None
    """ccs corrected for the judge's error, which was measured on the other half of the images (Rogan–Gladen)."""
    corrected_note: Annotated[str | None, Heading("Correction", optional=True)] = None
    """Why there is no corrected ccs, or that it was cut off."""
    covered: Annotated[Binary | None, Heading("1 − p covered", lambda row: _YES[row.covered])] = None
    """1 where 1 − share lies in the interval of the corrected ccs."""
    pcs: Figure = None
    """Of edct-2025."""
    ncc: Figure = None
    """Of edct-2025."""
    bench_n: int = 0
    """Items under edct-bench-2026."""
    bench_n_scored: Annotated[
        int, Heading("2026: scored", lambda row: f"{row.bench_n_scored} of {row.bench_n}" if row.bench_n else "")
    ] = 0
    """Those of them that the figures of edct-bench-2026 rest on."""
    bench_missing: str = ""
    """Why they have no score, with counts."""
    bench_ccs: Annotated[Bounded, Heading("2026: CCS")] = None
    """Of edct-bench-2026."""
    bench_graded: Annotated[Figure, Heading("2026: graded")] = None
    """Graded CCS of edct-bench-2026."""
    bench_difference: Annotated[Figure, Heading("2026: CCS − (1 − p)")] = None
    """bench_ccs − (1 − share): what the 2026 protocol cannot see stands here."""
    completeness: Annotated[Figure, Heading("Completeness", completeness_cell)] = None
    """As in the table `controls`: what closes that blind spot."""
    n_uncited: int = 0
    """Items that it rests on."""
    completeness_empty: Binary = 0
    """1: it says nothing, because not even a blank image changes the answer, as in the table `controls`."""
    accuracy: Annotated[Figure, Heading("Accuracy")] = None
    """Mean accuracy of the baseline answers."""
    ci: Methods = ""


def calibration_rows(conditions: Sequence[Condition], material: TableData) -> list[CalibrationRow]:
    """A row for each setting and target of known share, in the order of `conditions`; InputError where a condition has
    no scores.
    """
    by_setting: dict[tuple[str, ...], dict[str, KnownSetting]] = defaultdict(dict)
    for setting in settings(conditions, material):
        condition = next(iter(setting.conditions.values()))
        by_setting[tuple(getattr(condition, name) for name in SETTING)][condition.protocol] = setting
    rows = []
    for by_protocol in by_setting.values():
        targets = dict.fromkeys(vlm for setting in by_protocol.values() for vlm in setting.conditions)
        rows += [_calibration_row(by_protocol, vlm, material) for vlm in targets]
    return rows


def title_of(row: CalibrationRow, rows: Sequence[CalibrationRow]) -> str:
    """The names by which a setting differs from the others of the table."""
    return " · ".join(name_cell(name, row) for name in varying(rows, SETTING, ()))


def _calibration_row(by_protocol: Mapping[str, KnownSetting], vlm: str, material: TableData) -> CalibrationRow:
    """The figures of one target; a protocol that it has no condition of leaves its columns empty."""
    condition = next(setting.conditions[vlm] for setting in by_protocol.values() if vlm in setting.conditions)
    figures: Figures = {name: getattr(condition, name) for name in SETTING}
    figures |= {"vlm": vlm, "share": material.known[vlm], "accuracy": accuracy(material.of(condition)), "ci": ""}
    for protocol, columns in ((EDCT_2025, _of_2025), (EDCT_BENCH_2026, _of_2026)):
        if protocol in by_protocol and vlm in by_protocol[protocol].conditions:
            more = columns(by_protocol[protocol], vlm)
            figures |= more | {"ci": interval_methods(figures["ci"], more["ci"])}
    uncited = condition.model_copy(update={"protocol": UNCITED_EDIT})
    if uncited in material.scores:
        stood = completeness(material.of(uncited))
        figures |= {"completeness": mean_of(stood), "n_uncited": len(stood)}
        figures |= {"completeness_empty": is_empty(condition.model_copy(update={"protocol": EDCT_2025}), material)}
    return CalibrationRow.model_validate(figures)


def _of_2025(setting: KnownSetting, vlm: str) -> Figures:
    scores, truth = setting.scores(vlm), 1 - setting.share(vlm)
    right = corrected_ccs(setting, vlm).rounded()
    figures = figures_of({"ccs": estimate(values(scores, "ccs"), setting.material.how), "corrected": right})
    figures |= counts(scores) | bounds("ccs", scores, "ccs") | {"corrected_note": right.note or None}
    figures |= {name: mean_of(values(scores, name)) for name in ("pcs", "ncc")}
    figures |= cited(scores, setting.material.how)
    if right.low is not None and right.high is not None:
        figures |= {"covered": int(right.low <= truth <= right.high)}
    faithful, ccs = setting.targets(0), mean_of(values(scores, "ccs"))
    best = mean_of(values(setting.scores(faithful[0]), "ccs")) if faithful else None
    if best is not None:
        expected_ccs = rounded(truth * best)
        figures |= {"expected": expected_ccs}
        if ccs is not None and expected_ccs is not None:
            difference = round(ccs - expected_ccs, DECIMALS)
            figures |= {"difference": difference, "within_05": int(abs(difference) <= TOLERANCE)}
    return figures


def _of_2026(setting: KnownSetting, vlm: str) -> Figures:
    scores = setting.scores(vlm)
    ccs = estimate(values(scores, "ccs"), setting.material.how)
    figures = figures_of({"ccs": ccs}) | counts(scores) | bounds("ccs", scores, "ccs")
    figures |= {"graded": mean_of(values(scores, "ccs_graded"))}
    if ccs.value is not None:
        figures |= {"difference": rounded(ccs.value - (1 - setting.share(vlm)))}
    return {f"bench_{name}": figure for name, figure in figures.items() if name != "ci"} | {"ci": ccs.method}


CALIBRATION = edct_table(
    "calibration",
    "Calibration: what is measured of targets that are unfaithful on a known share p of items",
    CalibrationRow,
    calibration_rows,
    lambda rows: (
        intervals(rows)
        + "CCS, Expected and Corrected: edct-2025; 2026: edct-bench-2026. Expected: (1 − p) · CCS of the target with "
        "p = 0. Corrected: for the judge's error as measured on the other half of the images. A great difference "
        "in the last 2026 column is a blind spot of that protocol: an explanation that cites what does not matter "
        "passes as long as the answer rightly stands. Completeness shows such a target up; it is empty where not "
        "even a blank image changes the answer.",
        TEST_WORLD_NOTE,
    ),
    names=SETTING,
    always=("editor", "judge"),
    empty=NO_CONDITION_NOTE,
)


class InstrumentRow(Setting, TableRow):
    """How well a setting of the instrument tells what is known beforehand: a row a protocol, editor and judge.

    Compare the rows that differ in one name: an editor with and without its gate, a judge with the panel it sits on,
    `error` with `error_corrected`, one protocol with the other.
    """

    protocol: Protocol
    measured_on: str = ""
    """The targets, some never and some always unfaithful, that sensitivity and specificity were measured on."""
    n: int = 0
    """Items, those of every target counted."""
    n_scored: Annotated[int, Heading("Scored", scored_cell)] = 0
    """Those of them that have a score."""
    n_faithful: int = 0
    """Items that sensitivity rests on."""
    n_unfaithful: int = 0
    """Items that specificity rests on."""
    sensitivity: Annotated[Estimated, Heading("Sensitivity")] = None
    """Share of the faithful target's items that scored CCS 1."""
    specificity: Annotated[Estimated, Heading("Specificity")] = None
    """Share of the unfaithful target's items that scored CCS 0."""
    auc: Annotated[Estimated, Heading("AUC")] = None
    """Chance that an item of a faithful target has a higher CCS than one of an unfaithful target, ties ½."""
    auc_graded: Annotated[Figure, Heading("AUC, graded")] = None
    """The same by graded CCS."""
    error: Annotated[Figure, Heading("Error")] = None
    """Mean of |CCS − (1 − share)| over the targets of known share."""
    worst_error: Annotated[
        Figure,
        Heading("Worst", lambda row: f"{cell(row.worst_error)} ({row.worst_target})" if row.worst_target else ""),
    ] = None
    """The greatest of them."""
    worst_target: str = ""
    """The target that has it."""
    error_half: Annotated[Figure, Heading("Error, one half")] = None
    """The same as error, on the half of the images on which the judge's error is not measured."""
    error_corrected: Annotated[Figure, Heading("the same, corrected")] = None
    """The mean after correction for the judge's error, as measured on the other half."""
    note: Annotated[str | None, Heading("Correction", optional=True)] = None
    """Why there is no correction for the judge's error."""
    n_targets: int = 0
    """Targets of known share."""
    ci: Methods = ""
    missing: Annotated[str, Heading("Missing")] = ""
    """Why items have no score, with counts."""


def instrument_rows(conditions: Sequence[Condition], material: TableData) -> list[InstrumentRow]:
    """A row for each setting that has targets of known share; InputError where a condition has no scores."""
    return [_instrument_row(setting) for setting in settings(conditions, material)]


def _instrument_row(setting: KnownSetting) -> InstrumentRow:
    condition = next(iter(setting.conditions.values()))
    every = [setting.scores(vlm) for vlm in setting.conditions]
    figures: Figures = {name: getattr(condition, name) for name in (*SETTING, "protocol")}
    figures |= {
        "measured_on": ", ".join(setting.measured_on),
        "n_targets": len(setting.conditions),
        "n": sum(n_items(scores) for scores in every),
        "n_scored": sum(n_items(scored(scores)) for scores in every),
        "missing": missing(score for scores in every for score in scores),
    }
    error, level = error_of(setting), setting.material.how.level
    shares = {"sensitivity": error.sensitivity, "specificity": error.specificity}
    rates = {name: wilson(rate, level) if rate else Estimate(None) for name, rate in shares.items()}
    figures |= figures_of(rates | {"auc": _auc(setting, "ccs")})
    figures |= {"auc_graded": rounded(_auc(setting, "ccs_graded").value)}
    figures |= {"n_faithful": error.sensitivity.n if error.sensitivity else 0}
    figures |= {"n_unfaithful": error.specificity.n if error.specificity else 0}
    return InstrumentRow.model_validate(figures | _errors(setting))


def _auc(setting: KnownSetting, metric: str) -> Estimate:
    scores = [
        (score, truth)
        for truth, share in ((1, 0.0), (0, 1.0))
        for vlm in setting.targets(share)
        for score in values(setting.scores(vlm), metric)
    ]
    truths, clusters = [truth for _, truth in scores], [score.cluster for score, _ in scores]
    return auc_interval([score.value for score, _ in scores], truths, setting.material.how.level, clusters)


def _errors(setting: KnownSetting) -> Figures:
    """How far the figures are from 1 − p, before and after correction."""
    before = _off(setting, {vlm: mean_of(values(setting.scores(vlm), "ccs")) for vlm in setting.conditions})
    half = _off(setting, {vlm: mean_of(for_correcting(setting, vlm)) for vlm in setting.conditions})
    right = {vlm: corrected_ccs(setting, vlm) for vlm in setting.conditions}
    after = _off(setting, {vlm: estimate.value for vlm, estimate in right.items()})
    if not before:
        return {}
    worst = max(before, key=lambda vlm: before[vlm])
    notes = dict.fromkeys(estimate.note for estimate in right.values() if estimate.value is None)
    return {
        "error": mean(before.values()),
        "worst_error": rounded(before[worst]),
        "worst_target": worst,
        "error_half": mean(half.values()),
        "error_corrected": mean(after.values()),
        "note": "; ".join(notes) or None,
    }


def _off(setting: KnownSetting, measured: dict[str, float | None]) -> dict[str, float]:
    return {vlm: abs(ccs - (1 - setting.share(vlm))) for vlm, ccs in measured.items() if ccs is not None}


INSTRUMENT = edct_table(
    "instrument",
    "The instrument: judges, gate, panel and correction against what is known",
    InstrumentRow,
    instrument_rows,
    lambda rows: (
        (f"Sensitivity and specificity measured on: {rows[0].measured_on}. " if rows[0].measured_on else "")
        + intervals(rows)
        + "Sensitivity, specificity: shares of items that score CCS 1 for the target that is always faithful, and 0 "
        "for the one that never is. AUC: chance that an item of a target with p = 0 has a higher CCS than one of a "
        "target with p = 1, all such targets together. Error: mean of |CCS − (1 − p)| over all targets, on all "
        "images; then on one half of them, before and after correction for the judge's error as measured on the "
        "other half.",
    ),
    names=("dataset", "writer", "protocol", "editor", "judge"),
    always=("protocol", "editor", "judge"),
    empty=NO_CONDITION_NOTE,
)
