"""CSV files that people and other tools write: every row that can be used, one line about each of the others.

UTF-8, or UTF-16 with a mark; line ends of any system. Cells are separated by commas or, as spreadsheets of some
countries write them, by semicolons or tabs; a first line such as `sep=;` may say so. A row remembers which of its cells
stood in quotes without need, so that a file can be written again byte for byte.
"""

import csv
import io
import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from cfeval.core.errors import InputError
from cfeval.core.text_files import text_lines

R = TypeVar("R")
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_CELL = {
    mark: re.compile(
        rf'(?:"(?P<quoted>[^"]*+(?:""[^"]*+)*+)"|(?P<bare>[^"{re.escape(mark)}\r\n]*))'
        rf"(?P<end>{re.escape(mark)}|\r?\n?\Z)"
    )
    for mark in _SEPARATORS
}
# Excel's line that says what separates cells.
_SEP = re.compile(r'"?sep=(?P<mark>[,;\t|])"?[,;\t|]*\r?\n?', re.IGNORECASE)
NEEDS_QUOTES = re.compile(r'[",\r\n]')
"""What a cell may hold in quotes only."""


class RowError(Exception):
    """Why a row cannot be used; `torn` says that its cells could not even be told apart."""

    def __init__(self, reason: str, torn: bool = False) -> None:
        super().__init__(reason)
        self.torn = torn


@dataclass(frozen=True)
class Row:
    """A row's cells by column. `number` counts the file's rows from 1, unusable ones included.

    `line` is where the row begins in the file, `quoted` names the columns that stood in quotes without need.
    """

    number: int
    line: int
    cells: Mapping[str, str]
    quoted: frozenset[str]


class CsvFile(Generic[R]):
    """The rows of a file that can be used, read anew each time they are gone through.

    Empty rows do not count. `header` has the columns' names, `faults` one line about each row that could not be used,
    as far as the rows were gone through.

    Args:
        path: the file.
        needed: columns that it must have; others may stand there too.
        parse: makes something of a row, or raises `RowError`.
        strict: refuse the file at its first row that cannot be used (InputError while the rows are gone through).

    Raises:
        InputError: the file cannot be read, lacks a column, or has one twice.
    """

    def __init__(self, path: Path, needed: Sequence[str], parse: Callable[[Row], R], strict: bool = False) -> None:
        self.path, self.faults = path, list[str]()
        self._parse, self._strict = parse, strict
        with closing(text_lines(path)) as lines:
            self.header, self._mark = self._begin(_Ahead(lines))
        if lacking := [column for column in needed if column not in self.header]:
            raise InputError(f"{path}: column '{lacking[0]}' is missing; needed are {', '.join(needed)}")

    def __iter__(self) -> Generator[R, None, None]:
        """What was made of the rows, in the file's order."""
        self.faults = []
        with closing(text_lines(self.path)) as stream:
            lines = _Ahead(stream)
            self._begin(lines)
            number = 0
            while (line := lines.take()) is not None:
                if not line.strip(f" \t\r\n{self._mark}"):
                    continue
                number += 1
                at, more = lines.taken, lines.rest_of_row(line)
                try:
                    made = self._parse(self._row(number, at, line + "".join(more)))
                except RowError as fault:
                    self._note(f"{self.path}, line {at}: {fault}")
                    # A quote gone astray must not take the next rows with it.
                    lines.skip(0 if fault.torn else len(more))
                    continue
                lines.skip(len(more))
                yield made

    def _note(self, fault: str) -> None:
        if self._strict:
            raise InputError(fault)
        self.faults.append(fault)

    def _begin(self, lines: "_Ahead") -> tuple[list[str], str]:
        """Take the header: the names of the columns, and what separates cells."""
        line, marks = lines.take_filled(), list(_SEPARATORS)
        if separator := _SEP.fullmatch(line):
            line, marks = lines.take_filled(), [separator["mark"]]
        at, more = lines.taken, lines.rest_of_row(line)
        lines.skip(len(more))
        header, mark = _header(f"{self.path}, line {at}", line + "".join(more), marks)
        if twice := [name for name in header if name and header.count(name) > 1]:
            raise InputError(f"{self.path}, line {at}: column '{twice[0]}' stands there twice; rename or remove one")
        return header, mark

    def _row(self, number: int, line: int, text: str) -> Row:
        cells = list(_split(text, self._mark))
        if len(cells) != len(self.header):
            raise RowError(
                f"{len(cells)} columns, and the header has {len(self.header)}; put cells with "
                f"{_SEPARATORS[self._mark]} in quotes",
                True,
            )
        named = [(name, *cell) for name, cell in zip(self.header, cells, strict=True) if name or cell[0]]
        values = {name: value for name, value, _ in named}
        if len(values) < len(named):
            raise RowError("several cells stand under columns without a name; name the columns, or empty the cells")
        return Row(number, line, values, frozenset(name for name, _, bare in named if bare))


def csv_rows(path: Path, needed: Sequence[str] = ()) -> Generator[Row, None, None]:
    """Every row of a file.

    Raises:
        InputError: like `CsvFile`, or a row whose cells cannot be told apart; one line that names it.
    """
    return iter(CsvFile(path, needed, lambda row: row, strict=True))


class _Ahead:
    """Lines that are looked at before they are taken; `taken` counts those that were."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self._seen = lines, deque[str]()
        self.taken = 0

    def take(self) -> str | None:
        self.taken += 1
        return self._seen.popleft() if self._seen else next(self._lines, None)

    def take_filled(self) -> str:
        """The next line that is not blank; empty where there is none."""
        while (line := self.take()) is not None and not line.strip():
            pass
        return line or ""

    def skip(self, count: int) -> None:
        for _ in range(count):
            self.take()

    def rest_of_row(self, line: str) -> list[str]:
        """The lines with which a row goes on: as long as a quote is open; of one that is never closed none."""
        quotes, more = line.count('"'), list[str]()
        seen = iter(self._seen)
        further = list[str]()
        while quotes % 2:
            following = next(seen, None)
            if following is None:
                following = next(self._lines, None)
                if following is None:
                    more = []
                    break
                further.append(following)
            quotes += following.count('"')
            more.append(following)
        self._seen.extend(further)
        return more


def _header(place: str, text: str, marks: Sequence[str]) -> tuple[list[str], str]:
    """The names of the columns, and what separates them: of `marks` the one that gives the most."""
    found: dict[str, list[str]] = {}
    for mark in marks:
        try:
            found[mark] = [name.strip() for name, _ in _split(text, mark)] if text else []
        except RowError as fault:
            why = fault
    if not found:
        raise InputError(f"{place}: {why}")
    mark = max(found, key=lambda mark: len(found[mark]))
    return found[mark], mark


def _split(text: str, mark: str) -> Iterator[tuple[str, bool]]:
    """The cells of a row, and whether each stood in quotes without need."""
    if '"' not in text:
        yield from ((cell, False) for cell in text.rstrip("\r\n").split(mark))
        return
    at, end = 0, mark
    while end == mark:
        cell = _CELL[mark].match(text, at)
        if cell is None:
            raise RowError(
                "a quote stands in a cell or is not closed; put the cell in quotes and double those in it", True
            )
        quoted, end, at = cell["quoted"], cell["end"], cell.end()
        if quoted is None:
            yield cell["bare"], False
        else:
            value = quoted.replace('""', '"')
            yield value, mark not in value and not NEEDS_QUOTES.search(value)


def csv_line(cells: Iterable[object]) -> str:
    """A row as RFC 4180 writes it, with LF at its end; NUL, which no text file may hold, becomes U+FFFD."""
    line = io.StringIO()
    csv.writer(line).writerow(cells)  # told to end rows with LF, it would leave a CR in a cell without quotes
    return line.getvalue().removesuffix("\r\n").replace("\0", "\ufffd") + "\n"


def read_pairs(path: Path, key: str, value: str) -> dict[str, str]:
    """The column `value` by the column `key`; other columns are left alone.

    Raises:
        InputError: it cannot be read, lacks a column, has an empty cell there, or a key twice.
    """
    pairs: dict[str, str] = {}
    for row in csv_rows(path, (key, value)):
        name, text = (row.cells[column].strip() for column in (key, value))
        if not name or not text:
            raise InputError(f"{path}, line {row.line}: '{key}' or '{value}' is empty")
        if name in pairs:
            raise InputError(f"{path}, line {row.line}: {key} '{name}' stands there a second time")
        pairs[name] = text
    return pairs
