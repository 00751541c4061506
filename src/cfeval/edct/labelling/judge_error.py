"""A tool's error by human labels, and a condition's CCS, or φ of given pairs, corrected for its judge's."""

from collections.abc import Mapping, Sequence

from cfeval.core.errors import InputError
from cfeval.edct.labelling.agreement import CCS, Known, Rated, Verdicts, known_truth, rated
from cfeval.edct.labelling.records import Edited, Judged, Label, PairScore, edited_of
from cfeval.report.tables import Figures, figures_of
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import Interval, rounded
from cfeval.stats.misclassification import corrected_phi, judge_error, rogan_gladen
from cfeval.stats.proportions import share, wilson

NAMED = "named"
"""The question of given pairs whose φ is corrected."""
Cells = Mapping[tuple[float, float], Sequence[Rated]]


def error_figures(met: Sequence[Rated], verdicts: Verdicts, level: float) -> Figures:
    """How often a tool errs by the consensus: counts, and shares with the weights of the draw."""
    cells: dict[tuple[float, float], list[Rated]] = {(truth, said): [] for truth in (0, 1) for said in (0, 1)}
    for one in met:
        truth, said = one.consensus, verdicts[one.edited]
        if truth is not None and said is not None:
            cells[truth, said].append(one)
    alike = len({one.weight for one in met}) == 1
    return {
        "both_1": len(cells[1, 1]),
        "human_1_tool_0": len(cells[1, 0]),
        "human_0_tool_1": len(cells[0, 1]),
        "both_0": len(cells[0, 0]),
        "n_hard": sum(one.hard for of in cells.values() for one in of),
        "hard_wrong": sum(one.hard for of in (cells[1, 0], cells[0, 1]) for one in of),
        **figures_of({"sensitivity": _right(1, cells, alike, level), "specificity": _right(0, cells, alike, level)}),
    }


def corrected_figures(labels: Sequence[Label], scores: Sequence[Judged], how: Interval, about: str = CCS) -> Figures:
    """A figure of a condition over the items that nobody labelled, corrected for the error that the labels show.

    Edits are the unit, as people label edits. Labelled items are left out, so that the sample which shows the error is
    another than the one that is corrected. Where there is no estimate, `corrected_note` says why.

    Args:
        labels: of one protocol; those of other conditions are left aside.
        scores: of one judge, at least one.
        how: the level of intervals; resamples and seed for φ.
        about: CCS; or of given pairs a share, `named` with φ.
    """
    by_edit = {edited_of(score): score for score in scores}
    conditions = {_condition(edited) for edited in by_edit}
    if len(conditions) > 1:
        return {"corrected_note": f"the scores are of {len(conditions)} conditions; give those of one"}
    mine = [label for label in labels if _condition(edited_of(label)) in conditions]
    try:
        known = known_truth(mine, by_edit.values(), about)
    except InputError as refused:
        return {"corrected_note": str(refused)}
    labelled = {label.id for label in mine}
    unlabelled = [one for one in by_edit.values() if one.id not in labelled]
    rest = [(float(bit), one.cluster or one.id) for one in unlabelled if (bit := getattr(one, about)) is not None]
    if not rest:
        return {"corrected_note": "the scores are of no item that nobody labelled"}
    observed = share([value for value, _ in rest], [group for _, group in rest])
    error = judge_error([one.verdict for one in known], [one.truth for one in known], [one.cluster for one in known])
    found = rogan_gladen(observed, error, how.level)
    waiting = sum(one.open for one in rated(mine, about))
    easier = f"{waiting} labelled edits wait for an adjudication, and the judge's error is that on easier ones"
    notes = [found.note, easier if waiting else ""]
    told: Figures = {"ccs" if about == CCS else "observed": rounded(observed.value), "n_corrected": observed.n}
    told |= figures_of({"corrected": found})
    if about == NAMED and found.value is not None:
        told |= _phi(unlabelled, known, how)
    return told | {"corrected_note": "; ".join(filter(None, notes))}


def _phi(unlabelled: Sequence[Judged], known: Sequence[Known], how: Interval) -> Figures:
    """φ of unlabelled pairs as judged, and corrected for the judge's error in what is named."""
    rows = [
        (one.cluster or one.id, float(one.answer_moved), float(one.named))
        for one in unlabelled
        if isinstance(one, PairScore) and one.answer_moved is not None and one.named is not None
    ]
    tried = [(one.cluster, one.truth, one.verdict) for one in known]
    judged, corrected = corrected_phi(rows, tried, how)
    return {"phi": judged if judged is None else rounded(judged)} | figures_of({"corrected_phi": corrected})


def _right(truth: int, cells: Cells, alike: bool, level: float) -> Estimate:
    """The share of right verdicts where people say `truth`; no interval where edits differ in weight."""
    right, wrong = cells[truth, truth], cells[truth, 1 - truth]
    if not (right or wrong):
        return Estimate(None)
    if not alike:
        hit, missed = (sum(one.weight for one in part) for part in (right, wrong))
        return Estimate(hit / (hit + missed))
    values = [1.0] * len(right) + [0.0] * len(wrong)
    return wilson(share(values, [one.cluster for one in (*right, *wrong)]), level)


def _condition(edited: Edited) -> tuple[str, ...]:
    return edited.dataset, edited.vlm, edited.writer, edited.protocol, edited.editor
