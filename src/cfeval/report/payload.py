"""The gallery's data as JSON inside the page, in a form that no text from a model can break out of."""

import json
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from cfeval.protocols.rules import RULES
from cfeval.report.cards import Card

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


def payload(cards: Sequence[Card]) -> Markup:
    """The cards as JSON: each is a list of the number of its arm, its NUMBERS, and the places of its TEXTS in `texts`.

    Every text is stored once, since arms share questions, answers and explanations.
    """
    arms = list(dict.fromkeys(card.arm for card in cards))
    number = {arm: place for place, arm in enumerate(arms)}
    places: dict[str, int] = {}
    rows = [
        [
            number[card.arm],
            *(getattr(card, name) for name in NUMBERS),
            *(places.setdefault(getattr(card, name), len(places)) for name in TEXTS),
        ]
        for card in cards
    ]
    fields = ["arm", *NUMBERS, *TEXTS]
    named = {arm.protocol: [SHOWN.get(score, score) for score in RULES[arm.protocol].scores] for arm in arms}
    content = {
        "arms": [arm.model_dump() for arm in arms],
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
