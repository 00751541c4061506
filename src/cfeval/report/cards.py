"""Cards of the gallery: everything that happened to one item and edit of one arm, in one place."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cfeval.protocols.rules import RULES
from cfeval.records.edct import Arm, Baseline, Instruction, Requery, Sample, Score

Key = tuple[str, int]


@dataclass(frozen=True)
class Card:
    """One item and edit. Images are links from the report; an empty text or link is one that is not there."""

    arm: Arm
    id: str
    edit: int
    question: str
    kind: str
    reference: str
    original: str
    edited: str
    answer: str
    explanation: str
    concept: str
    positive: str
    negative: str
    new_answer: str
    new_explanation: str
    status: str
    stage: str
    reason: str
    answer_score: int | None
    """PCS, AC or whether the answer moved, as the arm's protocol has it."""
    explanation_score: int | None
    """NCC, EF or whether the explanation moved."""
    ccs: int | None
    ccs_graded: float | None
    verified: int | None


@dataclass(frozen=True)
class Evidence:
    """The records of one arm; `originals` and `edits` are the links to the pictures."""

    arm: Arm
    scores: Iterable[Score]
    samples: Mapping[str, Sample]
    baselines: Mapping[str, Baseline]
    originals: Mapping[str, str]
    instructions: Mapping[Key, Instruction] = field(default_factory=dict)
    edits: Mapping[Key, str] = field(default_factory=dict)
    requeries: Mapping[Key, Requery] = field(default_factory=dict)


def cards(of: Evidence) -> Iterator[Card]:
    """A card for every score row."""
    return (_card(of, score) for score in of.scores)


def _card(of: Evidence, score: Score) -> Card:
    key = (score.id, score.edit)
    sample, before = of.samples[score.id], of.baselines[score.id]
    written, after = of.instructions.get(key), of.requeries.get(key)
    return Card(
        arm=of.arm,
        id=score.id,
        edit=score.edit,
        question=sample.question,
        kind=sample.kind,
        reference=sample.reference,
        original=of.originals[score.id],
        edited=of.edits.get(key, ""),
        answer=before.answer,
        explanation=before.explanation,
        concept=written.concept if written else "",
        positive=written.positive if written else "",
        negative=written.negative if written else "",
        new_answer=after.answer if after else "",
        new_explanation=after.explanation if after else "",
        status=score.status.value,
        stage=score.stage,
        reason=score.reason,
        answer_score=getattr(score, RULES[of.arm.protocol].scores[0]),
        explanation_score=getattr(score, RULES[of.arm.protocol].scores[1]),
        ccs=score.ccs,
        ccs_graded=score.ccs_graded,
        verified=score.verified,
    )
