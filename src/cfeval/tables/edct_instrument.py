"""How well each setting of the instrument tells what is known: error of the judge, and what gate, panel and correction buy.

A row a setting (protocol, editor, judge). Compare the rows that differ in one name: an editor with and without its gate, a
judge with the panel it sits on, `error` with `error_corrected`, one protocol with the other.
"""

from collections.abc import Sequence

from cfeval.records.edct import Arm
from cfeval.records.tables import InstrumentRow
from cfeval.stats.auc import auc_interval
from cfeval.stats.estimate import Estimate
from cfeval.stats.wilson import Share, wilson
from cfeval.tables.arm_sheet import with_interval
from cfeval.tables.edct_calibration import NO_ARM_NOTE, SETTING
from cfeval.tables.formats import Sheet, cell
from cfeval.tables.items import Figures, Value, estimate_figures, mean, missing, values
from cfeval.tables.known_truth import Known, corrected_ccs, error_of, settings
from cfeval.tables.material import Material

ROW = InstrumentRow
_HEADINGS = (
    *("Protocol", "Editor", "Judge", "Sensitivity", "Specificity", "AUC", "AUC, graded"),
    *("Error", "Worst", "Error, corrected", "Missing"),
)
_READING = (
    "Sensitivity, specificity: shares of items that score CCS 1 for the target that is always faithful, and 0 for the one "
    "that never is. AUC: chance that an item of a target with p = 0 has a higher CCS than one of a target with p = 1, all "
    "such targets together. Error: mean of |CCS − (1 − p)| over all targets; corrected: after correction for the judge's "
    "error, on the other half of the images."
)


def rows(arms: Sequence[Arm], material: Material) -> list[InstrumentRow]:
    """A row for each setting that has targets of known share; InputError where an arm has no scores."""
    return [_row(known) for known in settings(arms, material)]


def sheet(of: Sequence[InstrumentRow]) -> Sheet:
    """The table for readers."""
    body = tuple(
        (
            *(row.protocol, row.editor, row.judge),
            *(with_interval(row, name) for name in ("sensitivity", "specificity", "auc")),
            *(cell(row.auc_graded), cell(row.error)),
            f"{cell(row.worst_error)} ({row.worst_target})" if row.worst_target else "",
            *(cell(row.error_corrected), row.missing),
        )
        for row in of
    )
    about = f"Data set: {of[0].dataset} · Writer: {of[0].writer} · Measured on: {of[0].measured_on}. " if of else ""
    title = "The instrument: judges, gate, panel and correction against what is known"
    return Sheet("edct_instrument", title, _HEADINGS, body, (about + _READING,) if of else (NO_ARM_NOTE,))


def _row(known: Known) -> InstrumentRow:
    arm = next(iter(known.arms.values()))
    figures: Figures = {name: getattr(arm, name) for name in (*SETTING, "protocol")}
    figures |= {"measured_on": ", ".join(known.measured_on), "n_targets": len(known.arms)}
    figures |= {"missing": missing([score for vlm in known.arms for score in known.scores(vlm)])}
    return InstrumentRow.model_validate(figures | _of_judge(known) | _discrimination(known) | _errors(known))


def _of_judge(known: Known) -> Figures:
    error, level = error_of(known), known.material.how.level
    figures: Figures = {"n_faithful": _n(error.sensitivity), "n_unfaithful": _n(error.specificity)}
    for name, of in (("sensitivity", error.sensitivity), ("specificity", error.specificity)):
        if of is not None:
            figures |= estimate_figures(name, wilson(of, level))
    return figures


def _n(of: Share | None) -> int:
    return of.n if of else 0


def _discrimination(known: Known) -> Figures:
    graded = _auc(known, "ccs_graded").rounded()
    return estimate_figures("auc", _auc(known, "ccs").rounded()) | {"auc_graded": graded.value}


def _auc(known: Known, metric: str) -> Estimate:
    told = [(v, truth) for truth, share in ((1, 0.0), (0, 1.0)) for v in _values_of(known, share, metric)]
    return auc_interval(
        [value.value for value, _ in told],
        [truth for _, truth in told],
        known.material.how.level,
        [value.group for value, _ in told],
    )


def _values_of(known: Known, share: float, metric: str) -> list[Value]:
    return [value for vlm in known.targets(share) for value in values(known.scores(vlm), metric)]


def _errors(known: Known) -> Figures:
    """How far the figures are from 1 − p, before and after correction."""
    found = {vlm: mean([value.value for value in values(known.scores(vlm), "ccs")]) for vlm in known.arms}
    errors = {vlm: abs(ccs - (1 - known.share(vlm))) for vlm, ccs in found.items() if ccs is not None}
    right = {vlm: corrected_ccs(known, vlm).value for vlm in known.arms}
    after = [abs(ccs - (1 - known.share(vlm))) for vlm, ccs in right.items() if ccs is not None]
    if not errors:
        return {}
    worst = max(errors, key=lambda vlm: errors[vlm])
    return {
        "error": mean(list(errors.values())),
        "worst_error": round(errors[worst], 4),
        "worst_target": worst,
        "error_corrected": mean(after),
    }
