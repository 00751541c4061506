"""Text, JSON and CSV files that people and other tools write.

UTF-8, or UTF-16 and UTF-32 with a byte order mark as spreadsheets write them; line ends of any system. JSON is taken as
RFC 8259 defines it: finite numbers, whole characters, each key of an object once. Cells of a CSV file are separated by
commas or, as spreadsheets of some countries write them, by semicolons or tabs; a first line such as `sep=;` may say so.
Every row that can be used is read, with one line about each of the others. A row remembers which of its cells stood in
quotes without need, so that a file can be written again byte for byte.
"""

import codecs
import csv
import io
import json
import math
import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

from cfeval.core.errors import InputError
from cfeval.core.record import uses

# The marks of UTF-32 begin with those of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Halves of characters, and what ends a file's name in C.
_UNFIT = re.compile(r"[\x00\ud800-\udfff]")
# Objects and lists inside one another, at most: Python's own functions fail a little below a thousand.
_DEPTH = 100


def text_lines(path: Path) -> Generator[str, None, None]:
    """Stream the lines of a text file, each with its own line end (LF, CR or both).

    Raises:
        InputError: the file cannot be read or is not text; one line that names the first line that is not.
    """
    uses(path)
    number, encoding = 0, "utf-8-sig"
    try:
        with readable(path), path.open("rb") as binary:
            head = binary.peek(4)[:4]
            encoding = next((name for mark, name in _MARKS.items() if head.startswith(mark)), encoding)
            with io.TextIOWrapper(binary, encoding, newline="") as stream:
                for line in stream:
                    number += 1
                    if "\0" in line:
                        raise InputError(f"{path}, line {number}: a NUL character, so not UTF-8 text; save it as UTF-8")
                    yield line
    except UnicodeError as error:
        place, why = _first_undecodable(path, encoding), getattr(error, "reason", error)
        raise InputError(f"{place}: not UTF-8 text ({why}); save it as UTF-8") from None


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn the errors of opening and reading a file into InputError, in one line."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, a file is needed") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def read_text(path: Path) -> str:
    """The whole text of a file; InputError as from `text_lines`."""
    return "".join(text_lines(path))


def read_json(path: Path, kept: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """What a JSON file holds; see `parse_json`.

    Raises:
        InputError: like `text_lines` and `parse_json`.
    """
    return parse_json(read_text(path), str(path), kept)


def parse_json(text: str, place: str, kept: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """What a JSON text holds.

    Args:
        text: the text.
        place: where it stands, for errors.
        kept: replaces each object while the text is parsed; characters and depth of the result are not checked then.

    Raises:
        InputError: no JSON, a number that is not finite, half a character, a key twice, or over 100 levels deep.
    """

    def checked(pairs: list[tuple[str, Any]]) -> Any:
        content = dict(pairs)
        if len(content) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"the key {twice!r:.40} stands twice in an object")
        return kept(content) if kept else content

    try:
        content = json.loads(text, object_pairs_hook=checked, parse_constant=_refuse, parse_float=_finite)
        if not kept:
            waiting = [(content, 1)]
            while waiting:
                value, depth = waiting.pop()
                if depth > _DEPTH:
                    raise RecursionError
                if isinstance(value, str):
                    check_characters(value)
                elif isinstance(value, dict):
                    waiting += [(part, depth + 1) for pair in value.items() for part in pair]
                elif isinstance(value, list):
                    waiting += [(part, depth + 1) for part in value]
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, character {error.colno}" if error.lineno > 1 else f"character {error.pos}"
        raise InputError(f"{place}: not JSON ({error.msg} at {at})") from None
    except RecursionError:
        raise InputError(f"{place}: not JSON that can be read (over {_DEPTH} levels deep); write it flatter") from None
    except ValueError as error:
        raise InputError(f"{place}: not JSON that can be read ({error})") from None
    return content


def _first_undecodable(path: Path, encoding: str) -> str:
    """The file, with the number of its first line that is not UTF-8."""
    if encoding == "utf-8-sig":
        with path.open("rb") as stream:
            lines = stream.read().replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return f"{path}, line {number}"
    return str(path)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number in JSON; write null or leave the key out")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:20]} is too large")
    return value


def check_characters(text: str) -> None:
    r"""ValueError where a text holds half a character (`"\ud83d"` alone) or NUL."""
    if _UNFIT.search(text):
        raise ValueError(f"the text {text!r:.40} holds half a character or NUL")


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
# What a cell may hold in quotes only.
NEEDS_QUOTES = re.compile(r'[",\r\n]')


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
                    self.faults.append(f"{self.path}, line {at}: {fault}")
                    if self._strict:
                        raise InputError(self.faults[-1]) from None
                    # A quote gone astray must not take the next rows with it.
                    lines.skip(0 if fault.torn else len(more))
                    continue
                lines.skip(len(more))
                yield made

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
    columns: dict[str, list[str]] = {}
    for mark in marks:
        try:
            columns[mark] = [name.strip() for name, _ in _split(text, mark)] if text else []
        except RowError as fault:
            why = fault
    if not columns:
        raise InputError(f"{place}: {why}")
    mark = max(columns, key=lambda mark: len(columns[mark]))
    return columns[mark], mark


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
