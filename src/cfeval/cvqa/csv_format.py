"""The CSV files of C-VQA: questions, questions with what a model responded, and checks of their keys.

`img_path,query,answer,new query,new answer,type`, UTF-8, LF, no byte order mark; files of results have the columns
`response,new_response` too. A file that is read and written again has the same bytes: the published file puts one cell
into quotes that needs none, so a row remembers which of its cells those are. What stands there with `;` between cells
is read too, and written with commas.

C-VQA-Synthetic has multiple choice inside a question (`cfeval.cvqa.records`).

Keys are checked by their own arithmetic: `How many clouds …` 0, `… if five were added` is 5. A question of the group
`direct` is judged where its change is said in full: a number of the very things that are counted is added or removed,
or all of them are doubled, tripled or halved. What depends on the image is left alone, and so is the group `indirect`,
whose changes do so by design. A key that does not follow is reported, never changed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from cfeval.core.errors import InputError
from cfeval.core.files import atomic_writer
from cfeval.core.text_files import NEEDS_QUOTES, CsvFile, Row, RowError
from cfeval.cvqa.records import LETTERS, REAL, SYNTHETIC, Question, QuestionPair, read_choices
from cfeval.inference.replies.text import numbers, tokens

COLUMNS = ("img_path", "query", "answer", "new query", "new answer", "type")
RESPONSES = ("response", "new_response")
TYPES = (*REAL, *SYNTHETIC)
# What an answer may be: a pattern, and in words.
ANSWER_FORMS = {
    "number": ("[0-9]+", "decimal digits"),
    "boolean": ("yes|no", "yes or no"),
    "choice": ("[ABCD]", "one of the letters A, B, C, D"),
}


@dataclass(frozen=True)
class CvqaRow:
    """A pair of questions about an image. `number` counts the file's rows from 1, unusable ones included.

    `quoted` names the columns whose cells stood in quotes without need. `line` is where the row begins in the file that
    it was read from, 0 where it was not.
    """

    number: int
    img_path: str
    original: Question
    counterfactual: Question
    type: str
    quoted: frozenset[str] = frozenset()
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class CvqaResult:
    """A pair of questions and what a model responded to each, as it came."""

    row: CvqaRow
    response: str
    new_response: str


def original_in_layout(pair: QuestionPair, layout: str, types: Sequence[str] = ()) -> Question:
    """The original question of a pair, which must be two questions about one image.

    Args:
        pair: what is to be written.
        layout: what the error calls the layout it is written in.
        types: the types that the layout has names for; empty: any.

    Raises:
        InputError: the pair has no original question, several images or another type.
    """
    lacks = (
        "no original question"
        if pair.original is None
        else "several images"
        if len(pair.all_images) > 1
        else f"the type {pair.type!r}"
        if types and pair.type not in types
        else ""
    )
    if pair.original is None or lacks:
        raise InputError(f"pair '{pair.id}' has {lacks}, which {layout} cannot hold; keep the JSONL")
    return pair.original


def read_questions(path: Path) -> CsvFile[CvqaRow]:
    """A file of questions; see `CsvFile`."""
    return CsvFile(path, COLUMNS, _question_row)


def read_results(path: Path) -> CsvFile[CvqaResult]:
    """A file of questions and responses; see `CsvFile`."""
    return CsvFile(
        path,
        COLUMNS + RESPONSES,
        lambda row: CvqaResult(_question_row(row), row.cells["response"], row.cells["new_response"]),
    )


def write_questions(path: Path, rows: Iterable[CvqaRow]) -> None:
    """Write a file of questions, row by row as they come.

    Raises:
        OutputError: the file cannot be written.
    """
    _write(path, COLUMNS, ((_cells(row), row.quoted) for row in rows))


def write_results(path: Path, results: Iterable[CvqaResult]) -> None:
    """Write a file of questions and responses; see `write_questions`."""
    lines = (((*_cells(result.row), result.response, result.new_response), result.row.quoted) for result in results)
    _write(path, COLUMNS + RESPONSES, lines)


def _cells(row: CvqaRow) -> tuple[str, ...]:
    original, new = row.original, row.counterfactual
    return row.img_path, original.question, original.answer, new.question, new.answer, row.type


def _write(path: Path, columns: Sequence[str], lines: Iterable[tuple[Sequence[str], frozenset[str]]]) -> None:
    with atomic_writer(path) as add:
        add(",".join(columns) + "\n")
        for cells, quoted in lines:
            add(",".join(_cell(cell, column in quoted) for column, cell in zip(columns, cells, strict=True)) + "\n")


def _cell(cell: str, quoted: bool) -> str:
    if quoted or NEEDS_QUOTES.search(cell):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _question_row(row: Row) -> CvqaRow:
    cells = row.cells
    name = cells["img_path"]
    if not name.strip(". ") or re.search(r"[/\\\0]", name):
        raise RowError(f"img_path must be the name of a file, but got {name!r:.60}")
    kind = next((kind for kind in TYPES if kind == cells["type"]), None)
    if kind is None:
        raise RowError(f"unknown type {cells['type']!r:.60}; allowed: {', '.join(TYPES)}")
    return CvqaRow(
        number=row.number,
        img_path=name,
        original=_question(kind, cells, "query", "answer"),
        counterfactual=_question(kind, cells, "new query", "new answer"),
        type=kind,
        quoted=row.quoted & set(COLUMNS),
        line=row.line,
    )


def _question(kind: str, cells: Mapping[str, str], query: str, answer: str) -> Question:
    question, given = cells[query], cells[answer]
    if not question.strip():
        raise RowError(f"'{query}' is empty")
    form = "boolean" if kind == "boolean" else "number" if kind in REAL else "choice"
    pattern, allowed = ANSWER_FORMS[form]
    if not re.fullmatch(pattern, given):
        raise RowError(f"'{answer}' of type {kind} must be {allowed}, but got {given!r:.60}")
    choices = read_choices(question) if form == "choice" else None
    if form == "choice" and (choices is None or choices.letters != LETTERS):
        raise RowError(
            f"'{query}' of type {kind} must end in options, as in '… Select the correct answer:A:1  B:2  C:3  D:4'"
        )
    return Question(question=question, answer=given)


_AMOUNT = (
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
# What adds to the things that are counted, and what takes from them.
_CHANGES = (
    (re.compile(rf"\bif (?:there (?:were|was) )?{_AMOUNT} {_EXTRA}(?P<what>[a-z]+) {_WERE}{_CAME}\b"), 1),
    (re.compile(rf"\bif there (?:were|was) {_AMOUNT} (?:more|additional|extra) (?P<what>[a-z]+)\b"), 1),
    (re.compile(rf"\bif {_AMOUNT} (?:of the )?(?P<what>[a-z]+) {_WERE}{_WENT}\b"), -1),
    (re.compile(rf"\bif there (?:were|was) {_AMOUNT} (?:fewer|less) (?P<what>[a-z]+)\b"), -1),
)
_TIMES = re.compile(
    r"\bif the (?:number|amount) of (?P<what>[a-z]+) (?:(?:was|were|is|had) )?(?:\w+ )?"
    r"(?P<how>doubled|tripled|halved)\b"
)
_SAYS_MORE = re.compile(r"\b(?:and|but|then|instead|except|not|unless|half|each|every|both|replaced|turned|moved)\b")
_FACTORS = {"doubled": 2, "tripled": 3}


class DoubtfulKey(NamedTuple):
    """A key that does not follow from the question: where it is, and what does follow."""

    row: CvqaRow
    key: int
    sum: str

    def line(self, file: str) -> str:
        """One line for a reader."""
        row = self.row
        return (
            f"{file}, line {row.line}: the key of {row.counterfactual.question!r} is {row.counterfactual.answer}, "
            f"but {self.sum} = {self.key}; nothing is changed"
        )


def doubtful_keys(rows: Iterable[CvqaRow]) -> Iterator[DoubtfulKey]:
    """The rows whose key does not follow from the original answer and the change that the question states."""
    for row in rows:
        derived = derived_key(row)
        if derived is not None and str(derived[0]) != row.counterfactual.answer:
            yield DoubtfulKey(row, *derived)


def key_lines(rows: Sequence[CvqaRow], file: str) -> Iterator[str]:
    """What a reader is told of the keys of a file: those that do not follow, and how many could be worked out."""
    count = judged(rows)
    lines = [doubtful.line(file) for doubtful in doubtful_keys(rows)]
    yield from lines
    if count:
        yield f"{file}: {count} keys worked out from the original answer, {len(lines)} of them doubtful"


def judged(rows: Iterable[CvqaRow]) -> int:
    """In how many rows the key can be worked out."""
    return sum(derived_key(row) is not None for row in rows)


def derived_key(row: CvqaRow) -> tuple[int, str] | None:
    """The key that follows, and the sum it is of; None where the question does not say its change in full."""
    if row.type != "direct":
        return None
    counted = _COUNTED.match(row.original.question.lower())
    question = row.counterfactual.question.lower()
    if counted is None or "how many" not in question:
        return None
    clause = question[question.find("if ") :] if "if " in question else ""
    start, things = int(row.original.answer), _singular(counted["what"].split()[-1])
    if _SAYS_MORE.search(clause):
        return None
    for pattern, sign in _CHANGES:
        match = pattern.search(question)
        if match and _singular(match["what"]) == things:
            after = start + sign * _amount(match["n"])
            return (after, f"{start} {'+' if sign > 0 else '-'} {_amount(match['n'])}") if after >= 0 else None
    times = _TIMES.search(question)
    if times and _singular(times["what"]) == things:
        if times["how"] in _FACTORS:
            return start * _FACTORS[times["how"]], f"{start} × {_FACTORS[times['how']]}"
        return (start // 2, f"{start} / 2") if start % 2 == 0 else None
    return None


def _amount(text: str) -> int:
    """A number in digits or words; `a` is 1."""
    [number] = numbers(tokens("1" if text in ("a", "an", "another") else text))
    return number.value or 0


def _singular(word: str) -> str:
    """The singular, roughly: `people` is `person`, `clouds` `cloud`, `buses` `bus`."""
    irregular = {"people": "person", "men": "man", "women": "woman", "children": "child", "sheep": "sheep"}
    if word in irregular:
        return irregular[word]
    return re.sub(r"(?:(?<=s|x|z)es|(?<=ch)es|(?<=sh)es|s)$", "", word)
