"""CSV files that people and other tools write: every row that can be used, one line about each of the others.

UTF-8, with or without a mark, line ends of any system; spreadsheets of some countries write `;` between cells. A row
remembers which of its cells stood in quotes without need, so that a file can be written again byte for byte.
"""

import csv
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar

from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_lines

R = TypeVar("R")
_CELL = {
    mark: re.compile(rf'(?:"(?P<quoted>[^"]*(?:""[^"]*)*)"|(?P<bare>[^"{mark}\r\n]*))(?P<end>{mark}|\r?\n?\Z)')
    for mark in ",;"
}
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

    `faults` has one line about each of the others, as far as the rows were gone through.

    Args:
        path: the file.
        needed: columns that it must have; others may stand there too.
        parse: makes something of a row, or raises `RowError`.

    Raises:
        InputError: the file cannot be read, or lacks a column.
    """

    def __init__(self, path: Path, needed: Sequence[str], parse: Callable[[Row], R]) -> None:
        self.path, self.faults = path, list[str]()
        self._parse = parse
        first = next(read_lines(path), "")
        self._mark = ";" if ";" in first and "," not in first else ","
        self.header = _header(path, first, self._mark, needed)

    def __iter__(self) -> Iterator[R]:
        """What was made of the rows, in the file's order."""
        self.faults = []
        lines = _Ahead(islice(read_lines(self.path), 1, None))
        number = 0
        while (line := lines.take()) is not None:
            if not line.strip():
                continue
            number += 1
            at, more = 1 + lines.taken, lines.rest_of_row(line)
            try:
                made = self._parse(self._row(number, at, line + "".join(more)))
            except RowError as fault:
                self.faults.append(f"{self.path}, line {at}: {fault}")
                lines.skip(0 if fault.torn else len(more))  # a quote gone astray must not take the next rows with it
                continue
            lines.skip(len(more))
            yield made

    def _row(self, number: int, line: int, text: str) -> Row:
        cells = list(_split(text, self._mark))
        if len(cells) != len(self.header):
            raise RowError(
                f"{len(cells)} columns, and the header has {len(self.header)}; put cells with commas in quotes", True
            )
        values = {column: cell for column, (cell, _) in zip(self.header, cells, strict=True)}
        bare = frozenset(column for column, (_, bare) in zip(self.header, cells, strict=True) if bare)
        return Row(number, line, values, bare)


class _Ahead:
    """Lines that are looked at before they are taken; `taken` counts those that were."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self._seen = lines, deque[str]()
        self.taken = 0

    def take(self) -> str | None:
        self.taken += 1
        return self._seen.popleft() if self._seen else next(self._lines, None)

    def skip(self, count: int) -> None:
        for _ in range(count):
            self.take()

    def rest_of_row(self, line: str) -> list[str]:
        """The lines with which a row goes on: as long as a quote is open; of one that is never closed none."""
        quotes, more = line.count('"'), 0
        while quotes % 2:
            if more == len(self._seen):
                further = next(self._lines, None)
                if further is None:
                    return []
                self._seen.append(further)
            quotes += self._seen[more].count('"')
            more += 1
        return list(islice(self._seen, more))


def _header(path: Path, line: str, mark: str, needed: Sequence[str]) -> list[str]:
    try:
        header = [cell for cell, _ in _split(line, mark)]
    except RowError as fault:
        raise InputError(f"{path}, line 1: {fault}") from None
    if lacking := [column for column in needed if column not in header]:
        raise InputError(f"{path}: column '{lacking[0]}' is missing; needed are {', '.join(needed)}")
    return header


def _split(text: str, mark: str) -> Iterator[tuple[str, bool]]:
    """The cells of a row, and whether each stood in quotes without need."""
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


def read_pairs(path: Path, key: str, value: str) -> dict[str, str]:
    """The column `value` by the column `key`; other columns are left alone.

    Raises:
        InputError: it cannot be read, lacks a column, has an empty cell there, or a key twice.
    """
    pairs: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            if lacking := {key, value} - set(reader.fieldnames or ()):
                raise InputError(f"{path}: column '{min(lacking)}' is missing; '{key}' and '{value}' are needed")
            for row in reader:
                name, said = (row[column] or "" for column in (key, value))
                if not name.strip() or not said.strip():
                    raise InputError(f"{path}: line {reader.line_num}: '{key}' or '{value}' is empty")
                if name in pairs:
                    raise InputError(f"{path}: line {reader.line_num}: {key} '{name}' stands there a second time")
                pairs[name.strip()] = said.strip()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8 ({error})") from None
    return pairs
