"""Text and JSON files that people and other tools write.

UTF-8, or UTF-16 and UTF-32 with a byte order mark as spreadsheets write them; line ends of any system. JSON is taken as
RFC 8259 defines it: finite numbers, whole characters, each key of an object once.
"""

import codecs
import io
import json
import math
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

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
            _check(content)
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


def _check(content: Any) -> None:
    """RecursionError where a value is too deep, ValueError where a text has characters that cannot be written."""
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


def check_characters(text: str) -> None:
    r"""ValueError where a text holds half a character (`"\ud83d"` alone) or NUL."""
    if _UNFIT.search(text):
        raise ValueError(f"the text {text!r:.40} holds half a character or NUL")
