"""Keys from a file `.env`, where the environment lacks them; they go only into this process and those it starts."""

import os
import re
from pathlib import Path

FILE = Path(".env")
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")


def read_keys(file: Path = FILE) -> tuple[str, ...]:
    """Set the variables of a file that the environment lacks, or has empty; returns their names.

    A line is `NAME=VALUE`, in quotes or not; blank lines, comments and whatever else stands there are passed over, so
    that no message can show what may be a key. A file that is not there or cannot be read names none.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ()
    found = {
        name: _unquoted(value)
        for line in lines
        if (match := _LINE.fullmatch(line.strip()))
        for name, value in [match.groups()]
    }
    taken = {name: value for name, value in found.items() if value and not os.environ.get(name)}
    os.environ.update(taken)
    return tuple(taken)


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value.partition(" #")[0].strip()
