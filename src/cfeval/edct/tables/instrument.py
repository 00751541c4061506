"""How well each setting of the instrument tells what is known: the judge's error, and what gate, panel, correction buy.

A row a setting (protocol, editor, judge). Compare the rows that differ in one name: an editor with and without its
gate, a judge with the panel it sits on, `error` with `error_corrected`, one protocol with the other.
"""

from collections.abc import Sequence
from typing import Annotated

from cfeval.edct.records import Condition
from cfeval.edct.tables.calibration import NO_CONDITION_NOTE, SETTING
from cfeval.edct.tables.conditions import name_columns, shared
from cfeval.edct.tables.known_truth import Known, Setting, corrected_ccs, error_of, for_correcting, settings
from cfeval.edct.tables.scores import TableData, missing, n_items, scored, values
from cfeval.report.columns import Estimated, Heading, TableRow, laid_out
from cfeval.report.tables import (
    Figure,
    Figures,
    RenderedTable,
    Table,
    cell,
    figures_of,
    intervals,
    scored_cell,
    varying,
)
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import ItemScore, mean, mean_of, rounded
from cfeval.stats.misclassification import auc_interval
from cfeval.stats.proportions import Share, wilson


class InstrumentRow(Setting, TableRow):
    """How well a setting of the instrument tells what is known beforehand."""

    protocol: str
    """The protocol."""
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
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    missing: Annotated[str, Heading("Missing")] = ""
    """Why items have no score, with counts."""


_NAMES = ("dataset", "writer", "protocol", "editor", "judge")
_TITLE = "The instrument: judges, gate, panel and correction against what is known"
_READING = (
    "Sensitivity, specificity: shares of items that score CCS 1 for the target that is always faithful, and 0 for the "
    "one that never is. AUC: chance that an item of a target with p = 0 has a higher CCS than one of a target with "
    "p = 1, all such targets together. Error: mean of |CCS − (1 − p)| over all targets, on all images; then on one "
    "half of them, before and after correction for the judge's error as measured on the other half."
)


def rows(conditions: Sequence[Condition], material: TableData) -> list[InstrumentRow]:
    """A row for each setting that has targets of known share; InputError where a condition has no scores."""
    return [_row(known) for known in settings(conditions, material)]


def render(of: Sequence[InstrumentRow]) -> RenderedTable:
    """The table for readers."""
    names = varying(of, _NAMES, ("protocol", "editor", "judge"))
    columns = laid_out(InstrumentRow, of, {"": name_columns(names)})
    if not of:
        return RenderedTable("edct_instrument", _TITLE, *columns, (NO_CONDITION_NOTE,))
    measured = f"Sensitivity and specificity measured on: {of[0].measured_on}. " if of[0].measured_on else ""
    said = (shared(of[0], names, _NAMES), measured + intervals(of) + _READING)
    return RenderedTable("edct_instrument", _TITLE, *columns, tuple(note for note in said if note))


def _row(known: Known) -> InstrumentRow:
    condition = next(iter(known.conditions.values()))
    figures: Figures = {name: getattr(condition, name) for name in (*SETTING, "protocol")}
    figures |= {"measured_on": ", ".join(known.measured_on), "n_targets": len(known.conditions)}
    return InstrumentRow.model_validate(figures | _counts(known) | _discrimination(known) | _errors(known))


def _counts(known: Known) -> Figures:
    """Items, those scored and the reasons, all targets together."""
    every = [known.scores(vlm) for vlm in known.conditions]
    return {
        "n": sum(n_items(scores) for scores in every),
        "n_scored": sum(n_items(scored(scores)) for scores in every),
        "missing": missing(score for scores in every for score in scores),
    }


def _discrimination(known: Known) -> Figures:
    error, level = error_of(known), known.material.how.level
    shares = {"sensitivity": error.sensitivity, "specificity": error.specificity}
    found = {name: wilson(of, level) if of else Estimate(None) for name, of in shares.items()}
    figures = figures_of(found | {"auc": _auc(known, "ccs")})
    figures |= {"n_faithful": _n(error.sensitivity), "n_unfaithful": _n(error.specificity)}
    return figures | {"auc_graded": rounded(_auc(known, "ccs_graded").value)}


def _n(of: Share | None) -> int:
    return of.n if of else 0


def _auc(known: Known, metric: str) -> Estimate:
    told = [(v, truth) for truth, share in ((1, 0.0), (0, 1.0)) for v in _values_of(known, share, metric)]
    return auc_interval(
        [value.value for value, _ in told],
        [truth for _, truth in told],
        known.material.how.level,
        [value.cluster for value, _ in told],
    )


def _values_of(known: Known, share: float, metric: str) -> list[ItemScore]:
    return [value for vlm in known.targets(share) for value in values(known.scores(vlm), metric)]


def _errors(known: Known) -> Figures:
    """How far the figures are from 1 − p, before and after correction."""
    before = _off(known, {vlm: mean_of(values(known.scores(vlm), "ccs")) for vlm in known.conditions})
    half = _off(known, {vlm: mean_of(for_correcting(known, vlm)) for vlm in known.conditions})
    right = {vlm: corrected_ccs(known, vlm) for vlm in known.conditions}
    after = _off(known, {vlm: found.value for vlm, found in right.items()})
    if not before:
        return {}
    worst = max(before, key=lambda vlm: before[vlm])
    return {
        "error": mean(before.values()),
        "worst_error": rounded(before[worst]),
        "worst_target": worst,
        "error_half": mean(half.values()),
        "error_corrected": mean(after.values()),
        "note": "; ".join(dict.fromkeys(found.note for found in right.values() if found.value is None)) or None,
    }


def _off(known: Known, found: dict[str, float | None]) -> dict[str, float]:
    return {vlm: abs(ccs - (1 - known.share(vlm))) for vlm, ccs in found.items() if ccs is not None}


TABLE = Table(row=InstrumentRow, rows=rows, render=render)
