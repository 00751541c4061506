"""Scores: one row per item and edit, with its status (EDCT 2025, Section 3: CCS_i = PCS_i · NCC_i; 2026: AC · EF)."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from cfeval.core.cli_options import OutFolder, StudyFile, read_study_params
from cfeval.core.jsonl import read_jsonl, write_csv
from cfeval.core.records import Binary, Status, failed, failure, propagated
from cfeval.core.streams import ByKey
from cfeval.datasets.answer_scoring import answer_matches, okvqa_accuracy, vqa_accuracy
from cfeval.datasets.sample import Sample, samples_by_id
from cfeval.edct.answers import moved_by_text
from cfeval.edct.asked import Conditions
from cfeval.edct.files import STAGES, baselines_by_id, checks_by_edit, instructions_by_edit, stage_files
from cfeval.edct.metrics import ccs, ccs_graded
from cfeval.edct.options import Results
from cfeval.edct.protocols.rules import CONTROLS, RULES, SAME
from cfeval.edct.records import Baseline, Check, Condition, Instruction, Score, Verdict
from cfeval.edct.stages.edits import ByEdit


def scores(
    verdicts: Iterable[Verdict],
    samples: ByKey[str, Sample],
    baselines: ByKey[str, Baseline],
    instructions: ByEdit,
    checks: ByKey[tuple[str, int], Check],
    condition: Condition,
) -> Iterator[Score]:
    """Score every verdict, in order. A failed item is a row without scores, never a 0."""
    names = condition.model_dump()
    for verdict in verdicts:
        key = verdict.id, verdict.edit
        check, sample, instruction = checks[key], samples[verdict.id], instructions[key]
        ended, finding = verdict, check.found
        if RULES[condition.protocol].edits == "cited" and not failed(verdict) and finding and finding.absent == 1:
            # A verifier saw that what was to be edited is not in the image.
            ended = Verdict(id=key[0], edit=key[1], **failure(Status.CITATION_ABSENT, "checks", finding.reason))
        absent = None if check.absent_thing is None else check.absent_thing.absent
        yield Score(
            **names,
            **_scored(ended, condition.protocol),
            id=verdict.id,
            edit=verdict.edit,
            cluster=sample.image.sha256[:16],
            evidence=instruction.evidence,
            answer_moved=None if ended.status == Status.CITATION_ABSENT else verdict.answer_moved,
            by_text=verdict.by_text,
            evaded=verdict.evaded,
            again=verdict.again,
            implied=_implied(instruction.implied, baselines[verdict.id].answer),
            implied_blank=_implied(instruction.implied_blank, baselines[verdict.id].answer),
            sham_edit=None if check.sham is None else check.sham.verified,
            sees_absent=None if absent is None else 0 if absent else 1,
            names_edited=verdict.names_edited,
            sham=verdict.sham,
            swapped=verdict.swapped,
            reworded=verdict.reworded,
            reader_moved=verdict.reader_moved,
            drawn_from=instruction.drawn_from,
            present=_present(ended, instruction, check, condition.protocol),
            breadth=None if instruction.cited is None else len(instruction.cited),
            correct=_correct(sample, baselines[verdict.id]),
            verified=None if finding is None else finding.verified,
            changed_share=check.changed_share,
        )


def _implied(answer: str, baseline: str) -> Binary | None:
    """Whether an answer that a writer says to follow is another one than the baseline's; None where it says none."""
    if not answer:
        return None
    return 0 if answer.strip(" .").upper() == SAME or moved_by_text(baseline, answer) == 0 else 1


def _present(ended: Verdict, instruction: Instruction, check: Check, protocol: str) -> Binary | None:
    """Whether what the explanation cites is in the image; None where no verifier, gate or writer looked.

    That an edit was made does not show it: an editor may paint what was not there.
    """
    if instruction.absent or ended.status == Status.CITATION_ABSENT:
        return 0
    seen = 0 in (check.gate_absent, None if check.found is None else check.found.absent)
    edited = RULES[protocol].edits == "cited" and ended.status == Status.OK
    return 1 if (edited and seen) or instruction.cited else None


def _scored(verdict: Verdict, protocol: str) -> dict[str, object]:
    if failed(verdict):
        return propagated(verdict)
    fields: dict[str, object] = {
        name: verdict.scores[name] for name in RULES[protocol].scores if name != "answer_moved"
    }
    if protocol in CONTROLS:
        return fields
    product = ccs(*(verdict.scores[name] for name in RULES[protocol].scores))
    mismatch = None if verdict.stated_ccs is None else int(verdict.stated_ccs != product)
    return fields | {"ccs": product, "ccs_graded": ccs_graded(verdict.grade), "mismatch": mismatch}


def _correct(sample: Sample, baseline: Baseline) -> float | None:
    right_answers = sample.reference if sample.scorer == "contains" else sample.answers
    if not right_answers or baseline.status != Status.OK:
        return None
    if sample.scorer == "contains":
        return float(answer_matches(baseline.answer, sample.reference))
    accuracy = {"vqa": vqa_accuracy, "okvqa": okvqa_accuracy}[sample.scorer]
    return round(accuracy(baseline.answer, sample.answers), 4)


def run(study: StudyFile, out: OutFolder, results: Results = Path("results/edct")) -> None:
    """Bring verdicts, checks and right answers of a target together: a row per item and edit, its status included."""
    request = read_study_params(study, Conditions)
    for condition in request.conditions:
        files = {stage: stage_files(results, stage, condition, request.shards) for stage in STAGES}
        for shard, file in enumerate(files["scores"]):
            rows = scores(
                read_jsonl(files["verdicts"][shard], Verdict),
                samples_by_id(files["items"][shard]),
                baselines_by_id(files["baselines"][shard]),
                instructions_by_edit(files["instructions"][shard]),
                checks_by_edit(files["checks"][shard]),
                condition,
            )
            write_csv(out / file.relative_to(results / "scores" / condition.dataset / condition.vlm), Score, rows)
