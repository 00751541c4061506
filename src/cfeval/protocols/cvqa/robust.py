"""A better reader of free replies: what it cannot tell for sure is unread (None), never a guess.

It knows numbers over ten, thousands, decimals that are whole, `none` and `no cats`, sums, sentences with an if-clause,
reasoning that ends in an answer, letters and options by value. Refusals, ranges (`3 or 4`), bounds (`at least 3`),
approximations by `or so`, contradictions and mere echoes are unread. It does not look at the right answer.
"""

from cfeval.io.choices import Choices
from cfeval.protocols.cvqa.robust_boolean import boolean
from cfeval.protocols.cvqa.robust_choice import choice
from cfeval.protocols.cvqa.robust_number import number
from cfeval.protocols.cvqa.statements import stated
from cfeval.records.cvqa import Form


def read(reply: str, form: Form, choices: Choices | None = None, question: str = "") -> str | None:
    """What a reply says: digits, `yes`, `no`, or a letter as shown; None where it does not say it clearly.

    Args:
        choices: the options as they were shown, where the form is `choice`.
        question: what was asked; whole sentences are only taken for yes or no where they repeat its words.
    """
    said = stated(reply)
    if said is None:
        return None
    if form == "number":
        return number(said)
    return boolean(said, question) if form == "boolean" else choice(said, choices)
