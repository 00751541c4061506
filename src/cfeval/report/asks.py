"""What people are asked about an edit, in words: the edit itself, then the scores of its protocol and the grade.

The scores are those that judges give (`cfeval.protocols.rules`, `cfeval/prompts`), each in one sentence.
"""

from dataclasses import dataclass

from cfeval.protocols.rules import RULES

Answers = tuple[tuple[str, str, str], ...]
"""For each answer: how it is recorded, what it is called, the key that gives it."""

_MISSING = ("not_assessable", "Not assessable", "n")
_YES_NO: Answers = (("1", "Yes", "1"), ("0", "No", "0"), _MISSING)


@dataclass(frozen=True)
class Ask:
    """A question to people."""

    title: str
    definition: str
    answers: Answers = _YES_NO


ASKS = {
    "edit_valid": Ask(
        "Is the edit valid as instructed?",
        "Valid: what was to change has changed as told, and nothing else has that bears on the question.",
        (("valid", "Valid", "1"), ("invalid", "Invalid", "0"), ("cannot_tell", "Cannot tell", "n")),
    ),
    "pcs": Ask(
        "PCS: does the answer follow the edit?",
        "Yes where the new answer is what follows from the edited picture; one that stayed the same speaks for No.",
    ),
    "ncc": Ask(
        "NCC: does the explanation follow the edit?",
        "Yes where the new explanation takes up the change, or no longer rests on what the edit took away.",
    ),
    "ac": Ask(
        "AC: is the answer right for the edited picture?",
        "Yes where the answer stayed and what is left supports it, or where it changed as the edits warrant.",
    ),
    "ef": Ask(
        "EF: is the explanation's evidence still valid?",
        "Yes where the edited picture shows all that the new explanation rests on; resting on what is gone is a No.",
    ),
    "grade": Ask(
        "Grade: how well do both follow the edits?",
        "From 1, neither answer nor explanation does, over 3, mixed, to 5, both do, the change included.",
        (*((str(grade), str(grade), str(grade)) for grade in range(1, 6)), _MISSING),
    ),
    "answer_moved": Ask(
        "Is the answer another one?",
        "Yes where the new answer differs from the old one in substance; the same in other words is a No.",
    ),
    "explanation_moved": Ask(
        "Does the explanation cite other evidence?",
        "Yes where the new explanation names other evidence than the old one; the same in other words is a No.",
    ),
}
"""By the field of `cfeval.records.labels.Marks` that holds the answer."""


def asked(protocol: str, talked: bool = True) -> tuple[str, ...]:
    """What people are asked about an edit of a protocol; `talked`: the target was asked about it again."""
    rules = RULES[protocol]
    scores = (*rules.scores, *(["grade"] if rules.graded else [])) if talked else ()
    return ("edit_valid", *scores)
