"""Scores: one row per item and edit, with its status (EDCT 2025, Section 3: CCS_i = PCS_i · NCC_i; 2026: AC · EF)."""

from collections.abc import Iterable, Iterator

from cfeval.metrics.accuracy import answer_matches
from cfeval.metrics.ccs import ccs
from cfeval.metrics.ccs_graded import ccs_graded
from cfeval.metrics.vqa_accuracy import okvqa_accuracy, vqa_accuracy
from cfeval.protocols.rules import CONTROLS, RULES
from cfeval.records.common import Status
from cfeval.records.edct import Arm, Baseline, Check, Sample, Score, Verdict
from cfeval.records.outcomes import carried, failed
from cfeval.streams import ByKey
from cfeval.studies.edct.chains import ByEdit


def scores(
    verdicts: Iterable[Verdict],
    samples: ByKey[str, Sample],
    baselines: ByKey[str, Baseline],
    instructions: ByEdit,
    checks: ByKey[tuple[str, int], Check],
    arm: Arm,
) -> Iterator[Score]:
    """Score every verdict, in order. A failed item is a row without scores, never a 0."""
    names = arm.model_dump()
    for verdict in verdicts:
        check = checks[verdict.id, verdict.edit]
        sample = samples[verdict.id]
        yield Score(
            **names,
            **_scored(verdict, arm.protocol),
            id=verdict.id,
            edit=verdict.edit,
            group=sample.image.sha256[:16],
            evidence=instructions[verdict.id, verdict.edit].evidence,
            correct=_correct(sample, baselines[verdict.id]),
            verified=None if check.found is None else check.found.verified,
            changed_share=check.changed_share,
        )


def _scored(verdict: Verdict, protocol: str) -> dict[str, object]:
    if failed(verdict):
        return carried(verdict)
    said: dict[str, object] = {name: verdict.scores[name] for name in RULES[protocol].scores}
    if protocol in CONTROLS:
        return said
    product = ccs(*(verdict.scores[name] for name in RULES[protocol].scores))
    mismatch = None if verdict.stated_ccs is None else int(verdict.stated_ccs != product)
    return said | {"ccs": product, "ccs_graded": ccs_graded(verdict.grade), "mismatch": mismatch}


def _correct(sample: Sample, said: Baseline) -> float | None:
    known = sample.reference if sample.scoring == "contains" else sample.answers
    if not known or said.status != Status.OK:
        return None
    if sample.scoring == "contains":
        return float(answer_matches(said.answer, sample.reference))
    accuracy = {"vqa": vqa_accuracy, "okvqa": okvqa_accuracy}[sample.scoring]
    return round(accuracy(said.answer, sample.answers), 4)
