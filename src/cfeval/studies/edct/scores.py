"""Scores: one row per item and edit, with its status (EDCT 2025, Section 3: CCS_i = PCS_i · NCC_i)."""

from collections.abc import Iterable, Iterator, Mapping

from cfeval.metrics.accuracy import answer_matches
from cfeval.metrics.ccs import ccs
from cfeval.metrics.vqa_accuracy import okvqa_accuracy, vqa_accuracy
from cfeval.records.common import Status
from cfeval.records.edct import Arm, Baseline, Check, Sample, Score, Verdict
from cfeval.studies.edct.outcomes import carried, failed


def scores(
    verdicts: Iterable[Verdict],
    samples: Mapping[str, Sample],
    baselines: Mapping[str, Baseline],
    checks: Mapping[tuple[str, int], Check],
    arm: Arm,
) -> Iterator[Score]:
    """Score every verdict, in order. A failed item is a row without scores, never a 0."""
    for verdict in verdicts:
        check = checks[verdict.id, verdict.edit]
        yield Score(
            **arm.model_dump(),
            **_scored(verdict),
            id=verdict.id,
            edit=verdict.edit,
            correct=_correct(samples[verdict.id], baselines[verdict.id]),
            verified=check.verified,
            changed_share=check.changed_share,
        )


def _scored(verdict: Verdict) -> dict[str, object]:
    if failed(verdict) or verdict.pcs is None or verdict.ncc is None:
        return carried(verdict)
    product = ccs(verdict.pcs, verdict.ncc)
    mismatch = None if verdict.stated_ccs is None else int(verdict.stated_ccs != product)
    return {"pcs": verdict.pcs, "ncc": verdict.ncc, "ccs": product, "mismatch": mismatch}


def _correct(sample: Sample, said: Baseline) -> float | None:
    known = sample.reference if sample.scoring == "contains" else sample.answers
    if not known or said.status != Status.OK:
        return None
    if sample.scoring == "contains":
        return float(answer_matches(said.answer, sample.reference))
    accuracy = {"vqa": vqa_accuracy, "okvqa": okvqa_accuracy}[sample.scoring]
    return round(accuracy(said.answer, sample.answers), 4)
