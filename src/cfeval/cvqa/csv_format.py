"""The CSV files of C-VQA: questions, and questions with what a model responded.

`img_path,query,answer,new query,new answer,type`, UTF-8, LF, no byte order mark; files of results have the columns
`response,new_response` too. A file that is read and written again has the same bytes: the published file puts one cell
into quotes that needs none, so a row remembers which of its cells those are. What stands there with `;` between cells
is read too, and written with commas.

C-VQA-Synthetic has multiple choice inside a question (`cfeval.cvqa.choices`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cfeval.core.errors import InputError
from cfeval.core.files import atomic_writer
from cfeval.core.text_files import NEEDS_QUOTES, CsvFile, Row, RowError
from cfeval.cvqa.choices import LETTERS, read_choices
from cfeval.cvqa.records import REAL, SYNTHETIC, Question, QuestionPair

COLUMNS = ("img_path", "query", "answer", "new query", "new answer", "type")
RESPONSES = ("response", "new_response")
TYPES = (*REAL, *SYNTHETIC)
ANSWERS = {
    "number": ("[0-9]+", "decimal digits"),
    "boolean": ("yes|no", "yes or no"),
    "choice": ("[ABCD]", "one of the letters A, B, C, D"),
}
"""What an answer may be: a pattern, and in words."""


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
    return CsvFile(path, COLUMNS + RESPONSES, _result_row)


def write_questions(path: Path, rows: Iterable[CvqaRow]) -> None:
    """Write a file of questions, row by row as they come.

    Raises:
        OutputError: the file cannot be written.
    """
    _write(path, COLUMNS, ((_cells(row), row.quoted) for row in rows))


def write_results(path: Path, results: Iterable[CvqaResult]) -> None:
    """Write a file of questions and responses; see `write_questions`."""
    lines = (((*_cells(one.row), one.response, one.new_response), one.row.quoted) for one in results)
    _write(path, COLUMNS + RESPONSES, lines)


def _cells(row: CvqaRow) -> tuple[str, ...]:
    original, new = row.original, row.counterfactual
    return row.img_path, original.question, original.answer, new.question, new.answer, row.type


def _write(path: Path, columns: Sequence[str], lines: Iterable[tuple[Sequence[str], frozenset[str]]]) -> None:
    with atomic_writer(path) as add:
        add(",".join(columns) + "\n")
        for cells, quoted in lines:
            add(",".join(_written(cell, column in quoted) for column, cell in zip(columns, cells, strict=True)) + "\n")


def _written(cell: str, quoted: bool) -> str:
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
        original=_asked(kind, cells, "query", "answer"),
        counterfactual=_asked(kind, cells, "new query", "new answer"),
        type=kind,
        quoted=row.quoted & set(COLUMNS),
        line=row.line,
    )


def _asked(kind: str, cells: Mapping[str, str], query: str, answer: str) -> Question:
    question, said = cells[query], cells[answer]
    if not question.strip():
        raise RowError(f"'{query}' is empty")
    form = "boolean" if kind == "boolean" else "number" if kind in REAL else "choice"
    pattern, allowed = ANSWERS[form]
    if not re.fullmatch(pattern, said):
        raise RowError(f"'{answer}' of type {kind} must be {allowed}, but got {said!r:.60}")
    choices = read_choices(question) if form == "choice" else None
    if form == "choice" and (choices is None or choices.letters != LETTERS):
        raise RowError(
            f"'{query}' of type {kind} must end in options, as in '… Select the correct answer:A:1  B:2  C:3  D:4'"
        )
    return Question(question=question, answer=said)


def _result_row(row: Row) -> CvqaResult:
    return CvqaResult(_question_row(row), row.cells["response"], row.cells["new_response"])
