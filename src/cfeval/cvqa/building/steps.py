"""The step format in which counterfactual questions are built from original ones (C-VQA, Appendix B).

    Original question: …
    Original answer: …
    Step1: …
    Step2: …
    New question: …
    New answer: …

Reading is strict: a reply that has a field too many or too few, that speaks of another question, or whose answer is not
one number (direct) or `yes` or `no` (boolean) is refused with the reason. Only white space and the letter case of the
names are free. What such a reply says is data.
"""

import re
from dataclasses import dataclass
from typing import Literal

from cfeval.cvqa.records import has_if_clause

Wanted = Literal["direct", "boolean"]
FIELDS = ("Original question", "Original answer", "Step1", "Step2", "New question", "New answer")
LONGEST = 600
"""Characters of a field, at most."""
_LINE = re.compile(r"\s*([a-z]+(?:\s*[0-9]+|\s+[a-z]+)?)\s*:(.*)", re.IGNORECASE | re.ASCII)
_ANSWER: dict[Wanted, re.Pattern[str]] = {
    "direct": re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII),
    "boolean": re.compile(r"yes|no"),
}
_ANSWERS: dict[Wanted, str] = {"direct": "one number in digits", "boolean": "`yes` or `no`"}
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


class StepsError(ValueError):
    """A reply is not in the step format, and why."""


@dataclass(frozen=True)
class Steps:
    """What a reply says, each field with single blanks between its words."""

    original_question: str
    original_answer: str
    step1: str
    step2: str
    question: str
    answer: str


def read_steps(text: str, question: str, answer: str, kind: Wanted) -> Steps:
    """Read a reply.

    Args:
        text: the reply.
        question: the original question that was asked about.
        answer: its answer.
        kind: the group that is wanted.

    Raises:
        StepsError: it is not in the format, with the reason in one line.
    """
    steps = Steps(*_fields(text))
    if steps.original_question != _plain(question):
        raise StepsError("'Original question' is not the question that was given")
    if steps.original_answer != _plain(answer):
        raise StepsError("'Original answer' is not the answer that was given")
    if not _ANSWER[kind].fullmatch(steps.answer):
        raise StepsError(f"'New answer' must be {_ANSWERS[kind]}, but is {steps.answer[:40]!r}")
    if not steps.question.endswith("?"):
        raise StepsError("'New question' does not end in a question mark")
    if not has_if_clause(steps.question):
        raise StepsError("'New question' supposes nothing: it has no 'if'")
    return steps


def write_steps(steps: Steps) -> str:
    """The format, one field a line; `read_steps` reads it back."""
    said = (
        steps.original_question,
        steps.original_answer,
        steps.step1,
        steps.step2,
        steps.question,
        steps.answer,
    )
    return "\n".join(f"{name}: {value}" for name, value in zip(FIELDS, said, strict=True))


def numbers_fault(step1: str, original: str, question: str) -> str:
    """Whether the numbers of the new question are those of step 1: the fault in words, empty where there is none.

    Numbers of the original question do not count, nor does one (`a`, `another`); where either text names no number
    there is no telling.
    """
    before = _numbers(original)
    said, asked = _numbers(step1) - before, _numbers(question) - before
    if not said or not asked or said == asked:
        return ""
    listed = [", ".join(map(str, sorted(numbers))) for numbers in (said, asked)]
    return f"step 1 names {listed[0]}, the new question {listed[1]}"


def turn_fault(step1: str, answer: str) -> str:
    """Whether the first step of a boolean question promises another answer than the new one; empty where not."""
    promised = re.search(r"new answer should be (yes|no)\b", step1, re.IGNORECASE)
    if promised is None or promised[1].lower() == answer:
        return ""
    return f"step 1 says that the new answer should be {promised[1].lower()}, but it is {answer}"


def _fields(text: str) -> list[str]:
    values: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, value = _labelled(line, number)
        place = len(values)
        if name in FIELDS[:place]:
            raise StepsError(f"line {number}: '{name}' stands there a second time")
        if name not in FIELDS:
            raise StepsError(f"line {number}: there is no field '{name}'; the fields are {', '.join(FIELDS)}")
        if name != FIELDS[place]:
            raise StepsError(f"line {number}: '{FIELDS[place]}' is due, but '{name}' stands there")
        values.append(_checked(name, value))
    if len(values) < len(FIELDS):
        raise StepsError(f"'{FIELDS[len(values)]}' is missing")
    return values


def _labelled(line: str, number: int) -> tuple[str, str]:
    """The field's name as it is written in `FIELDS`, and its text."""
    found = _LINE.fullmatch(line)
    if found is None:
        raise StepsError(f"line {number} is no field: {line.strip()[:40]!r}")
    said = re.sub(r"\s+", "", found[1]).lower()
    known = {re.sub(r"\s+", "", name).lower(): name for name in FIELDS}
    return known.get(said, " ".join(found[1].split())), found[2]


def _checked(name: str, value: str) -> str:
    plain = _plain(value)
    if not plain:
        raise StepsError(f"'{name}' is empty")
    if len(plain) > LONGEST:
        raise StepsError(f"'{name}' is longer than {LONGEST} characters")
    if not plain.isprintable():
        raise StepsError(f"'{name}' holds a character that cannot be printed")
    if re.search(r"<[^<>]*>", plain):
        raise StepsError(f"'{name}' holds a placeholder that was not filled in")
    return plain


def _plain(text: str) -> str:
    return " ".join(text.split())


def _numbers(text: str) -> set[int]:
    words = re.findall(r"[0-9]{1,9}|[a-z]+", text.lower(), re.ASCII)
    read = {int(word) if word.isdecimal() else _NUMBERS.index(word) + 2 for word in words if _is_number(word)}
    return read - {1}


def _is_number(word: str) -> bool:
    return word.isdecimal() or word in _NUMBERS
