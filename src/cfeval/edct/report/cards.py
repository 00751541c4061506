"""Cards of the gallery: everything that happened to one item and edit of one condition, in one place.

They stand in the page as JSON, in a form that no text from a model can break out of.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from cfeval.datasets.sample import Sample
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.records import Baseline, Condition, Instruction, Requery, Score

Key = tuple[str, int]
NUMBERS = ("edit", "answer_score", "explanation_score", "ccs", "ccs_graded", "verified")
TEXTS = (
    "id",
    "question",
    "kind",
    "reference",
    "original",
    "edited",
    "answer",
    "explanation",
    "concept",
    "positive",
    "negative",
    "new_answer",
    "new_explanation",
    "status",
    "stage",
    "reason",
)
SHOWN = {"pcs": "PCS", "ncc": "NCC", "ac": "AC", "ef": "EF"} | {
    "answer_moved": "answer moved",
    "explanation_moved": "explanation moved",
}
"""How scores are called on the page."""
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


@dataclass(frozen=True)
class Card:
    """One item and edit. Images are links from the report; an empty text or link is one that is not there."""

    condition: Condition
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
    """PCS, AC or whether the answer moved, as the condition's protocol has it."""
    explanation_score: int | None
    """NCC, EF or whether the explanation moved."""
    ccs: int | None
    ccs_graded: float | None
    verified: int | None


@dataclass(frozen=True)
class Evidence:
    """The records of one condition; `originals` and `edits` are the links to the pictures."""

    condition: Condition
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
        condition=of.condition,
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
        answer_score=getattr(score, RULES[of.condition.protocol].scores[0]),
        explanation_score=getattr(score, RULES[of.condition.protocol].scores[1]),
        ccs=score.ccs,
        ccs_graded=score.ccs_graded,
        verified=score.verified,
    )


def payload(cards: Sequence[Card]) -> Markup:
    """The cards as JSON: each is a list of the number of its condition, its NUMBERS, and the places of its TEXTS in
    `texts`.

    Every text is stored once, since conditions share questions, answers and explanations.
    """
    conditions = list(dict.fromkeys(card.condition for card in cards))
    number = {condition: place for place, condition in enumerate(conditions)}
    places: dict[str, int] = {}
    rows = [
        [
            number[card.condition],
            *(getattr(card, name) for name in NUMBERS),
            *(places.setdefault(getattr(card, name), len(places)) for name in TEXTS),
        ]
        for card in cards
    ]
    fields = ["condition", *NUMBERS, *TEXTS]
    named = {
        condition.protocol: [SHOWN.get(score, score) for score in RULES[condition.protocol].scores]
        for condition in conditions
    }
    content = {
        "conditions": [condition.model_dump() for condition in conditions],
        "scores": named,
        "fields": fields,
        "numbers": len(NUMBERS) + 1,
        "cards": rows,
        "texts": list(places),
    }
    return script_json(content)


def script_json(content: Any) -> Markup:
    """JSON that may stand in a `<script>` element: pure ASCII, and without `<`, `>` and `&`."""
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return Markup("".join(_UNSAFE.get(char, char) for char in text))
