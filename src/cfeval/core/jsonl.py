"""Record files: JSONL (one record a line, keys sorted, UTF-8) and CSV (RFC 4180, LF)."""

import json
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from cfeval.core.errors import InputError
from cfeval.core.files import atomic_writer
from cfeval.core.record import uses
from cfeval.core.records import Record
from cfeval.core.text_files import csv_line, csv_rows, readable

R = TypeVar("R", bound=Record)
_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


def read_jsonl(path: Path, kind: type[R]) -> Iterator[R]:
    """Stream the records of a file.

    Raises:
        InputError: the file is missing, is not UTF-8, or a line is not such a record (the line is named).
    """
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            yield parse_line(path, number, line, kind)


def read_lines(path: Path) -> Generator[str, None, None]:
    """Stream the lines of a UTF-8 text file; InputError where it is missing or not text."""
    uses(path)
    try:
        with readable(path), path.open(encoding="utf-8-sig", newline="\n") as stream:
            yield from stream
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason}); save it as UTF-8") from None


def write_jsonl(path: Path, records: Iterable[Record]) -> None:
    """Write records, one a line, as they come."""
    with atomic_writer(path) as add:
        for record in records:
            add(record_line(record))


def record_line(record: Record) -> str:
    """One record as its JSONL line; the same record always gives the same bytes."""
    return _JSON.encode(record.model_dump(mode="json")) + "\n"


def count_records(path: Path) -> int:
    """How many records a JSONL file holds, none of them parsed; InputError as from `read_jsonl`."""
    return sum(1 for line in read_lines(path) if line.strip())


def read_csv(path: Path, kind: type[R]) -> list[R]:
    """Read a CSV whose header names the fields of `kind`; an empty cell stands for the field's default."""
    return list(stream_csv(path, kind))


def stream_csv(path: Path, kind: type[R]) -> Iterator[R]:
    """Like `read_csv`, a record at a time."""
    for row in csv_rows(path):
        try:
            yield kind.model_validate({name: value for name, value in row.cells.items() if value != ""})
        except ValidationError as error:
            raise InputError(f"{path}, line {row.line}: {first_fault(error)}") from None


def write_csv(path: Path, kind: type[Record], records: Iterable[Record]) -> None:
    """Write records as CSV as they come, a column a field; None is an empty cell, booleans are 0 and 1."""
    with atomic_writer(path) as add:
        add(csv_line(kind.model_fields))
        for record in records:
            add(csv_line(_cell(value) for value in record.model_dump(mode="json").values()))


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return int(value) if isinstance(value, bool) else value


def parse_line(path: Path, number: int, line: str, kind: type[R]) -> R:
    """One line as its record; InputError, naming the place, where it is none."""
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        raise InputError(f"{path}, line {number}: {first_fault(error)}") from None


def first_fault(error: ValidationError) -> str:
    """What is wrong with a record, in one line: the field and why."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])
