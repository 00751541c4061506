"""Answers read per second

On one core, by the released rules and by the better reader. Replies as models give them: a word, a sentence, a chain of
thought; each kind of answer.
"""

import time
from collections.abc import Callable
from itertools import cycle, islice

from bench.table import Table
from cfeval.cvqa.extraction import reference, robust
from cfeval.cvqa.records import Choices, Form

MANY, REPEATS = 5000, 3
OPTIONS = Choices("How many dots would there be if 5 were removed?", ("16", "17", "12", "13"))
REPLIES: dict[str, tuple[str, ...]] = {
    "a word": ("3", "twelve", "No", "yes", "C", "(b)", "none", "17"),
    "a sentence": (
        "There would be 3 plates left.",
        "If two more came, there would be 5 zebras in the picture.",
        "No, the goggles would not be covering her eyes if she took them off.",
        "The answer is (c) because 12 dots remain.",
    ),
    "a chain of thought": (
        "First, I count the plates on the table: there are 4 of them. Then the question supposes that one is taken "
        "away. 4 - 1 = 3. Nothing else changes in the picture. Therefore, the answer is 3.",
        "The image shows six circles. The circle with the most dots has 7, and the next one has 5. If the first were "
        "removed, the most would be 5, which is option B. So the answer is B.",
    ),
}
FORMS: tuple[Form, ...] = ("number", "boolean", "choice")


def tables() -> list[Table]:
    """The one table."""
    rows = []
    for name, replies in REPLIES.items():
        rates = [_rate(read, replies) for read in (_reference, _robust)]
        rows.append([name, *(f"{rate:,.0f}" for rate in rates)])
    columns = ("replies", "reference, answers/s", "robust, answers/s")
    return [Table("Answers", columns, rows, [f"The best of {REPEATS}."])]


def _reference(reply: str, form: Form) -> str | None:
    return reference.read(reply, form, OPTIONS if form == "choice" else None)


def _robust(reply: str, form: Form) -> str | None:
    return robust.read(reply, form, OPTIONS if form == "choice" else None, OPTIONS.stem)


def _rate(read: Callable[[str, Form], str | None], replies: tuple[str, ...]) -> float:
    work = list(islice(cycle((reply, form) for reply in replies for form in FORMS), MANY))
    best = min(_seconds(read, work) for _ in range(REPEATS))
    return MANY / best


def _seconds(read: Callable[[str, Form], str | None], work: list[tuple[str, Form]]) -> float:
    start = time.process_time()
    for reply, form in work:
        read(reply, form)
    return time.process_time() - start
