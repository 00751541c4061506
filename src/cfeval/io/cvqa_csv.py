"""The CSV files of C-VQA: questions, and questions with what a model responded.

`img_path,query,answer,new query,new answer,type`, UTF-8, LF, no byte order mark; files of results have the columns
`response,new_response` too. A file that is read and written again has the same bytes: the published file puts one cell
into quotes that needs none, so a row remembers which of its cells those are.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar, get_args

from cfeval.errors import InputError
from cfeval.io.atomic import write_text
from cfeval.io.choices import read_choices
from cfeval.io.records import read_lines
from cfeval.records.cvqa import Form, PairType, Question, form_of

COLUMNS = ("img_path", "query", "answer", "new query", "new answer", "type")
RESPONSES = ("response", "new_response")
TYPES: tuple[PairType, ...] = get_args(PairType)
ANSWERS: dict[Form, tuple[str, str]] = {
    "number": ("[0-9]+", "decimal digits"),
    "boolean": ("yes|no", "yes or no"),
    "choice": ("[ABCD]", "one of the letters A, B, C, D"),
}
"""What an answer may be: a pattern, and in words."""
_CELL = re.compile(r'(?:"(?P<quoted>[^"]*(?:""[^"]*)*)"|(?P<bare>[^",\r\n]*))(?P<end>,|\r?\n?\Z)')
_NEEDS_QUOTES = re.compile(r'[",\r\n]')


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
    type: PairType
    quoted: frozenset[str] = frozenset()
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class CvqaResult:
    """A pair of questions and what a model responded to each, as it came."""

    row: CvqaRow
    response: str
    new_response: str


R = TypeVar("R", CvqaRow, CvqaResult)


@dataclass(frozen=True)
class CvqaFile(Generic[R]):
    """The rows of a file that can be used, and one line about each of the others."""

    rows: tuple[R, ...]
    faults: tuple[str, ...]


class _RowError(Exception):
    """Why a row cannot be used; `torn` says that its cells could not even be told apart."""

    def __init__(self, reason: str, torn: bool = False) -> None:
        super().__init__(reason)
        self.torn = torn


@dataclass(frozen=True)
class _Raw:
    """A row's cells by column, and the columns that stood in quotes without need."""

    number: int
    line: int
    cells: Mapping[str, str]
    quoted: frozenset[str]


def read_questions(path: Path) -> CvqaFile[CvqaRow]:
    """Read a file of questions.

    Raises:
        InputError: the file cannot be read, or lacks a column; other columns may stand there too.
    """
    return _read(path, COLUMNS, _question_row)


def read_results(path: Path) -> CvqaFile[CvqaResult]:
    """Read a file of questions and responses; see `read_questions`."""
    return _read(path, COLUMNS + RESPONSES, _result_row)


def write_questions(path: Path, rows: Iterable[CvqaRow]) -> None:
    """Write a file of questions.

    Raises:
        OutputError: the file cannot be written.
    """
    write_text(path, _text(COLUMNS, ((_cells(row), row.quoted) for row in rows)))


def write_results(path: Path, results: Iterable[CvqaResult]) -> None:
    """Write a file of questions and responses; see `write_questions`."""
    lines = (((*_cells(one.row), one.response, one.new_response), one.row.quoted) for one in results)
    write_text(path, _text(COLUMNS + RESPONSES, lines))


def _cells(row: CvqaRow) -> tuple[str, ...]:
    original, new = row.original, row.counterfactual
    return row.img_path, original.question, original.answer, new.question, new.answer, row.type


def _text(columns: Sequence[str], lines: Iterable[tuple[Sequence[str], frozenset[str]]]) -> str:
    whole = [",".join(columns)]
    for cells, quoted in lines:
        whole.append(",".join(_written(cell, column in quoted) for column, cell in zip(columns, cells, strict=True)))
    return "".join(f"{line}\n" for line in whole)


def _written(cell: str, quoted: bool) -> str:
    if quoted or _NEEDS_QUOTES.search(cell):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _read(path: Path, needed: Sequence[str], parse: Callable[[_Raw], R]) -> CvqaFile[R]:
    lines = list(read_lines(path))
    header = _header(path, lines[0] if lines else "", needed)
    rows, faults = [], []
    at, number = 1, 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        number += 1
        end = _end_of_row(lines, at)
        try:
            rows.append(parse(_raw(number, at + 1, "".join(lines[at:end]), header)))
        except _RowError as fault:
            faults.append(f"{path}, line {at + 1}: {fault}")
            end = at + 1 if fault.torn else end  # a quote gone astray must not take the next rows with it
        at = end
    return CvqaFile(tuple(rows), tuple(faults))


def _header(path: Path, line: str, needed: Sequence[str]) -> list[str]:
    try:
        header = [cell for cell, _ in _split(line)]
    except _RowError as fault:
        raise InputError(f"{path}, line 1: {fault}") from None
    if lacking := [column for column in needed if column not in header]:
        raise InputError(f"{path}: column '{lacking[0]}' is missing; needed are {', '.join(needed)}")
    return header


def _end_of_row(lines: Sequence[str], start: int) -> int:
    """Where the next row begins: a row goes on as long as a quote is open; one that is never closed ends at once."""
    quotes = 0
    for at in range(start, len(lines)):
        quotes += lines[at].count('"')
        if quotes % 2 == 0:
            return at + 1
    return start + 1


def _raw(number: int, line: int, text: str, header: Sequence[str]) -> _Raw:
    cells = list(_split(text))
    if len(cells) != len(header):
        raise _RowError(
            f"{len(cells)} columns, and the header has {len(header)}; put cells with commas in quotes", True
        )
    values = {column: cell for column, (cell, _) in zip(header, cells, strict=True)}
    return _Raw(
        number, line, values, frozenset(column for column, (_, bare) in zip(header, cells, strict=True) if bare)
    )


def _split(text: str) -> Iterator[tuple[str, bool]]:
    """The cells of a row, and whether each stood in quotes without need."""
    at, end = 0, ","
    while end == ",":
        cell = _CELL.match(text, at)
        if cell is None:
            raise _RowError(
                "a quote stands in a cell or is not closed; put the cell in quotes and double those in it", True
            )
        quoted, end, at = cell["quoted"], cell["end"], cell.end()
        if quoted is None:
            yield cell["bare"], False
        else:
            value = quoted.replace('""', '"')
            yield value, not _NEEDS_QUOTES.search(value)


def _question_row(raw: _Raw) -> CvqaRow:
    cells = raw.cells
    name = cells["img_path"]
    if not name.strip(". ") or re.search(r"[/\\\0]", name):
        raise _RowError(f"img_path must be the name of a file, but got {name!r:.60}")
    kind = next((kind for kind in TYPES if kind == cells["type"]), None)
    if kind is None:
        raise _RowError(f"unknown type {cells['type']!r:.60}; allowed: {', '.join(TYPES)}")
    return CvqaRow(
        number=raw.number,
        img_path=name,
        original=_asked(kind, cells, "query", "answer"),
        counterfactual=_asked(kind, cells, "new query", "new answer"),
        type=kind,
        quoted=raw.quoted & set(COLUMNS),
        line=raw.line,
    )


def _asked(kind: PairType, cells: Mapping[str, str], query: str, answer: str) -> Question:
    question, said = cells[query], cells[answer]
    if not question.strip():
        raise _RowError(f"'{query}' is empty")
    form = form_of(kind)
    pattern, allowed = ANSWERS[form]
    if not re.fullmatch(pattern, said):
        raise _RowError(f"'{answer}' of type {kind} must be {allowed}, but got {said!r:.60}")
    if form == "choice" and read_choices(question) is None:
        raise _RowError(
            f"'{query}' of type {kind} must end in options, as in '… Select the correct answer:A:1  B:2  C:3  D:4'"
        )
    return Question(question=question, answer=said)


def _result_row(raw: _Raw) -> CvqaResult:
    return CvqaResult(_question_row(raw), raw.cells["response"], raw.cells["new_response"])
