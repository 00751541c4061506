"""Checks the keys of imported questions by their own arithmetic: `How many clouds …` 0, `… if five were added` is 5.

A question of the group `direct` is judged where its change is said in full: a number of the very things that are
counted is added or removed, or all of them are doubled, tripled or halved. What depends on the image is left alone,
and so is the group `indirect`, whose changes do so by design. A key that does not follow is reported, never changed.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cfeval.cvqa.csv_format import CvqaRow
from cfeval.inference.replies.text import numbers, tokens

_NUMBER = (
    r"(?P<n>\d+|an?|another|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen|twenty)"
)
_COUNTED = re.compile(
    r"^\W*how many (?P<what>[a-z]+(?: [a-z]+){0,2}?)"
    r"(?:$|\?| (?:are|is|were|can|do|does|will|would|have|in|on|you|make|at)\b)"
)
_WERE = r"(?:were|was|are|is|had been|have been|got|been)? ?(?:\w+ )?"
_CAME = r"(?:added|joined|arrived|appeared|came|brought|placed|put|introduced|included|drawn|built|installed|parked)"
_WENT = r"(?:removed|left|taken away|disappeared|eliminated)"
_EXTRA = r"(?:more |additional |extra |other |new )?"
_CHANGES = (
    (re.compile(rf"\bif (?:there (?:were|was) )?{_NUMBER} {_EXTRA}(?P<what>[a-z]+) {_WERE}{_CAME}\b"), 1),
    (re.compile(rf"\bif there (?:were|was) {_NUMBER} (?:more|additional|extra) (?P<what>[a-z]+)\b"), 1),
    (re.compile(rf"\bif {_NUMBER} (?:of the )?(?P<what>[a-z]+) {_WERE}{_WENT}\b"), -1),
    (re.compile(rf"\bif there (?:were|was) {_NUMBER} (?:fewer|less) (?P<what>[a-z]+)\b"), -1),
)
"""What adds to the things that are counted, and what takes from them."""
_TIMES = re.compile(
    r"\bif the (?:number|amount) of (?P<what>[a-z]+) (?:(?:was|were|is|had) )?(?:\w+ )?"
    r"(?P<how>doubled|tripled|halved)\b"
)
_SAYS_MORE = re.compile(r"\b(?:and|but|then|instead|except|not|unless|half|each|every|both|replaced|turned|moved)\b")
_FACTORS = {"doubled": 2, "tripled": 3}


class DoubtfulKey(NamedTuple):
    """A key that does not follow from the question: where it is, and what does follow."""

    row: CvqaRow
    expected: int
    sum: str

    def line(self, file: str) -> str:
        """One line for a reader."""
        row = self.row
        return (
            f"{file}, line {row.line}: the key of {row.counterfactual.question!r} is {row.counterfactual.answer}, "
            f"but {self.sum} = {self.expected}; nothing is changed"
        )


def doubtful_keys(rows: Iterable[CvqaRow]) -> Iterator[DoubtfulKey]:
    """The rows whose key does not follow from the original answer and the change that the question states."""
    for row in rows:
        found = expected(row)
        if found is not None and str(found[0]) != row.counterfactual.answer:
            yield DoubtfulKey(row, *found)


def key_lines(rows: Sequence[CvqaRow], file: str) -> Iterator[str]:
    """What a reader is told of the keys of a file: those that do not follow, and how many could be worked out."""
    count = judged(rows)
    found = [one.line(file) for one in doubtful_keys(rows)]
    yield from found
    if count:
        yield f"{file}: {count} keys worked out from the original answer, {len(found)} of them doubtful"


def judged(rows: Iterable[CvqaRow]) -> int:
    """In how many rows the key can be worked out."""
    return sum(expected(row) is not None for row in rows)


def expected(row: CvqaRow) -> tuple[int, str] | None:
    """The key that follows, and the sum it is of; None where the question does not say its change in full."""
    if row.type != "direct":
        return None
    counted = _COUNTED.match(row.original.question.lower())
    asked = row.counterfactual.question.lower()
    if counted is None or "how many" not in asked:
        return None
    clause = asked[asked.find("if ") :] if "if " in asked else ""
    start, things = int(row.original.answer), _stem(counted["what"].split()[-1])
    if _SAYS_MORE.search(clause):
        return None
    for pattern, sign in _CHANGES:
        found = pattern.search(asked)
        if found and _stem(found["what"]) == things:
            after = start + sign * _value(found["n"])
            return (after, f"{start} {'+' if sign > 0 else '-'} {_value(found['n'])}") if after >= 0 else None
    times = _TIMES.search(asked)
    if times and _stem(times["what"]) == things:
        if times["how"] in _FACTORS:
            return start * _FACTORS[times["how"]], f"{start} × {_FACTORS[times['how']]}"
        return (start // 2, f"{start} / 2") if start % 2 == 0 else None
    return None


def _value(text: str) -> int:
    """A number in digits or words; `a` is 1."""
    [one] = numbers(tokens("1" if text in ("a", "an", "another") else text))
    return one.value or 0


def _stem(word: str) -> str:
    """The singular, roughly: `people` is `person`, `clouds` `cloud`, `buses` `bus`."""
    irregular = {"people": "person", "men": "man", "women": "woman", "children": "child", "sheep": "sheep"}
    if word in irregular:
        return irregular[word]
    return re.sub(r"(?:(?<=s|x|z)es|(?<=ch)es|(?<=sh)es|s)$", "", word)
