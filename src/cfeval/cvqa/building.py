"""The step format in which counterfactual questions are built from original ones (C-VQA, Appendix B), and its sums.

    Original question: …
    Original answer: …
    Step1: …
    Step2: …
    New question: …
    New answer: …

Reading is strict: a reply that has a field too many or too few, that speaks of another question, or whose answer is not
one number (direct) or `yes` or `no` (boolean) is refused with the reason. Only white space and the letter case of the
names are free. What such a reply says is data.

What the second step works out, such as `The answer would be 3 + 3 = 6`, is recomputed. Nothing is evaluated but
numbers, + − * /, parentheses and `=`, by a reader of its own. One of the paper's own examples says 2-1+2=3 and then
gives the answer 1.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from cfeval.cvqa.records import has_if_clause

Wanted = Literal["direct", "boolean"]
FIELDS = ("Original question", "Original answer", "Step1", "Step2", "New question", "New answer")
# Characters of a field, at most.
LONGEST_FIELD = 600
_LINE = re.compile(r"\s*([a-z]+(?:\s*[0-9]+|\s+[a-z]+)?)\s*:(.*)", re.IGNORECASE | re.ASCII)
_ANSWER: dict[Wanted, re.Pattern[str]] = {
    "direct": re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII),
    "boolean": re.compile(r"yes|no"),
}
_ANSWERS: dict[Wanted, str] = {"direct": "one number in digits", "boolean": "`yes` or `no`"}
_NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


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
    values = (steps.original_question, steps.original_answer, steps.step1, steps.step2, steps.question, steps.answer)
    return "\n".join(f"{name}: {value}" for name, value in zip(FIELDS, values, strict=True))


def numbers_fault(step1: str, original: str, question: str) -> str:
    """Whether the numbers of the new question are those of step 1: the fault in words, empty where there is none.

    Numbers of the original question do not count, nor does one (`a`, `another`); where either text names no number
    there is no telling.
    """
    before = _numbers(original)
    step_numbers, question_numbers = _numbers(step1) - before, _numbers(question) - before
    if not step_numbers or not question_numbers or step_numbers == question_numbers:
        return ""
    listed = [", ".join(map(str, sorted(numbers))) for numbers in (step_numbers, question_numbers)]
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
        match = _LINE.fullmatch(line)
        if match is None:
            raise StepsError(f"line {number} is no field: {line.strip()[:40]!r}")
        label = re.sub(r"\s+", "", match[1]).lower()
        labels = {re.sub(r"\s+", "", name).lower(): name for name in FIELDS}
        name, value = labels.get(label, " ".join(match[1].split())), match[2]
        place = len(values)
        if name in FIELDS[:place]:
            raise StepsError(f"line {number}: '{name}' stands there a second time")
        if name not in FIELDS:
            raise StepsError(f"line {number}: there is no field '{name}'; the fields are {', '.join(FIELDS)}")
        if name != FIELDS[place]:
            raise StepsError(f"line {number}: '{FIELDS[place]}' is due, but '{name}' stands there")
        plain = _plain(value)
        if not plain:
            raise StepsError(f"'{name}' is empty")
        if len(plain) > LONGEST_FIELD:
            raise StepsError(f"'{name}' is longer than {LONGEST_FIELD} characters")
        if not plain.isprintable():
            raise StepsError(f"'{name}' holds a character that cannot be printed")
        if re.search(r"<[^<>]*>", plain):
            raise StepsError(f"'{name}' holds a placeholder that was not filled in")
        values.append(plain)
    if len(values) < len(FIELDS):
        raise StepsError(f"'{FIELDS[len(values)]}' is missing")
    return values


def _plain(text: str) -> str:
    return " ".join(text.split())


def _numbers(text: str) -> set[int]:
    tokens = re.findall(r"[0-9]{1,9}|[a-z]+", text.lower(), re.ASCII)
    read = {
        int(word) if word.isdecimal() else _NUMBER_WORDS.index(word) + 2
        for word in tokens
        if word.isdecimal() or word in _NUMBER_WORDS
    }
    return read - {1}


# What can be said of a sum; the first fault counts. `other start`: it does not begin with the original answer.
Verdict = Literal["agrees", "no sum", "wrong sum", "other start", "other answer"]

_DEEPEST = 20
_TOKEN = re.compile(
    r"(?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+(?:\.[0-9]+)?)|(?P<word>[^\W\d_]+)|(?P<sign>[-+*/()=])|(?P<other>\S)"
)
_SAME_SIGNS = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "∗": "*", "÷": "/", "⁄": "/"})
_EQUALS = ("equals", "is", "gives", "makes")
_SIGN_OF_WORD = {"plus": "+", "minus": "-", "times": "*", "x": "*"} | dict.fromkeys(_EQUALS, "=")
_LONGEST_NUMBER = 12
_LARGEST = 10**12
_SHOWN = 60
# So many words may stand behind a number and before the next sign: `3 small birds + 3 birds = 6 birds`.
_WORDS_BETWEEN = 2


@dataclass(frozen=True)
class Arithmetic:
    """The verdict, the number that the last sum gives where it is whole and not negative, and the fault in words.

    Of a wrong sum it is what stands before `=`, recomputed.
    """

    verdict: Verdict
    result: int | None = None
    reason: str = ""


class SumError(ValueError):
    """What stands there is no sum of numbers."""


def check_sum(step2: str, original: str, answer: str) -> Arithmetic:
    """Recompute every sum of a step and compare it with the answers before and after.

    Args:
        step2: the text of the step.
        original: the original answer, digits.
        answer: the new answer, digits.
    """
    sums = list(_sums(step2))
    if not sums:
        return Arithmetic("no sum")
    try:
        values = [_value(run) for run in sums]
    except SumError as error:
        return Arithmetic("wrong sum", _recomputed(sums[-1]), str(error))
    result = _whole_number(values[-1])
    start = next(token for token in sums[0] if token not in "(-")
    if Fraction(start) != int(original):
        return Arithmetic("other start", result, f"the sum begins with {start}, but the original answer is {original}")
    if result is None or str(result) != answer:
        return Arithmetic("other answer", result, f"the sum gives {_shown(values[-1])}, but the new answer is {answer}")
    return Arithmetic("agrees", result)


def evaluate(tokens: Sequence[str]) -> Fraction:
    """The value of numbers, signs and parentheses; `*` and `/` before `+` and `-`.

    Raises:
        SumError: they are no expression, divide by zero, or are nested too deep.
    """
    value, rest = _terms(tuple(tokens), 0)
    if rest:
        raise SumError(f"{_joined(tokens)!r} cannot be read at {rest[0]!r}")
    return value


def _sums(text: str) -> Iterator[list[str]]:
    """The runs of numbers and signs that hold an `=` and another sign."""
    for run in map(_trimmed, _runs(text)):
        if "=" in run and set(run) & set("+-*/"):
            yield run


def _trimmed(run: list[str]) -> list[str]:
    """Without the dash of a list before it, a dash behind it, or parentheses around it."""
    while run and run[0] in "=+-*/)":
        run = run[1:]
    while run and run[-1] in "+-*/(":
        run = run[:-1]
    around = run[:1] == ["("] and run[-1] == ")" and "=" in run and ")" not in run[: run.index("=")]
    return run[1:-1] if around and run[: run.index("=")].count("(") == 1 else run


def _runs(text: str) -> Iterator[list[str]]:
    """The longest runs of numbers and signs; what else stands there ends one."""
    run: list[str] = []
    word_count = 0
    for kind, token in _tokens(text):
        follows = bool(run) and (run[-1][0].isdigit() or run[-1] == ")")
        if kind == "word" and follows and word_count < _WORDS_BETWEEN:
            word_count += 1
            continue
        new = token == "(" and follows
        if kind in ("word", "other") or (word_count and kind == "number") or new:
            yield run
            run = []
        if kind in ("number", "sign"):
            run.append(token)
        word_count = 0
    yield run


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each token; a few words are signs where a number stands before and behind them."""
    matches = list(_TOKEN.finditer(text.translate(_SAME_SIGNS)))
    for place, match in enumerate(matches):
        kind, token = match.lastgroup or "other", match[0]
        token = token.replace(",", "") if kind == "number" else token
        sign = _SIGN_OF_WORD.get(token.lower())
        beside = matches[max(place - 1, 0) : place] + matches[place + 1 : place + 2]
        if (
            sign
            and len(beside) == 2
            and all(neighbour.lastgroup == "number" or neighbour[0] in "()" for neighbour in beside)
        ):
            kind, token = "sign", sign
        yield kind, token


def _value(run: Sequence[str]) -> Fraction:
    """The value of a chain `a = b = …`; SumError where its parts differ."""
    sides = _split(run)
    if not all(sides):
        raise SumError(f"{_joined(run)!r} says nothing on one side of '='")
    values = [evaluate(side) for side in sides]
    if any(max(abs(value.numerator), value.denominator) > _LARGEST for value in values):
        raise SumError(f"{_joined(run)!r} holds a number that is too large")
    for side, value in zip(sides[1:], values[1:], strict=True):
        if value != values[0]:
            raise SumError(f"{_joined(sides[0])} is {_shown(values[0])}, not {_joined(side)}")
    return values[0]


def _recomputed(run: Sequence[str]) -> int | None:
    try:
        return _whole_number(evaluate(_split(run)[0]))
    except SumError:
        return None


def _split(run: Sequence[str]) -> list[list[str]]:
    sides: list[list[str]] = [[]]
    for token in run:
        if token == "=":
            sides.append([])
        else:
            sides[-1].append(token)
    return sides


# A value and the tokens behind it.
_Parsed = tuple[Fraction, tuple[str, ...]]


def _terms(tokens: tuple[str, ...], depth: int) -> _Parsed:
    value, tokens = _factors(tokens, depth)
    while tokens and tokens[0] in "+-":
        sign = -1 if tokens[0] == "-" else 1
        more, tokens = _factors(tokens[1:], depth)
        value += sign * more
    return value, tokens


def _factors(tokens: tuple[str, ...], depth: int) -> _Parsed:
    value, tokens = _atom(tokens, depth)
    while tokens and tokens[0] in "*/":
        sign = tokens[0]
        more, tokens = _atom(tokens[1:], depth)
        if sign == "/" and more == 0:
            raise SumError("divides by zero")
        value = value / more if sign == "/" else value * more
    return value, tokens


def _atom(tokens: tuple[str, ...], depth: int) -> _Parsed:
    if depth > _DEEPEST:
        raise SumError("is nested too deep")
    if not tokens:
        raise SumError("ends where a number is due")
    first, rest = tokens[0], tokens[1:]
    if first == "-":
        value, rest = _atom(rest, depth + 1)
        return -value, rest
    if first == "(":
        value, rest = _terms(rest, depth + 1)
        if rest[:1] != (")",):
            raise SumError("a parenthesis is left open")
        return value, rest[1:]
    if not first[0].isdigit() or len(first) > _LONGEST_NUMBER:
        raise SumError(f"{first[:_LONGEST_NUMBER]!r} stands where a number is due")
    return Fraction(first), rest


def _whole_number(value: Fraction) -> int | None:
    return int(value) if value.denominator == 1 and 0 <= value <= _LARGEST else None


def _shown(value: Fraction) -> str:
    return _joined([str(value)])


def _joined(tokens: Sequence[str]) -> str:
    text = "".join(tokens)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
