"""Two columns of a CSV file as a mapping."""

import csv
from pathlib import Path

from cfeval.errors import InputError


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
