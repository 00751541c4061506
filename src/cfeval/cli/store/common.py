"""What the verbs about the store share: which store, and which calls some record files name."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.calls.settings import settings
from cfeval.calls.store import Store
from cfeval.errors import InputError
from cfeval.io.records import read_lines

StoreFile = Annotated[Path | None, typer.Option("--store", help="The store; empty: the one of the settings.")]
Records = Annotated[
    list[Path] | None, typer.Argument(help="Record files (JSONL), or folders of them, whose calls are meant.")
]


def opened(path: Path | None, new: bool = False) -> Store:
    """The store in a file.

    Raises:
        InputError: there is none, and it is not to be made.
    """
    file = path or Path(settings().store)
    if not new and not file.is_file():
        raise InputError(f"{file}: there is no response store; name one by --store")
    return Store(file)


def calls_named(records: Iterable[Path]) -> set[str]:
    """The keys of all calls that record files name.

    Raises:
        InputError: a file that is missing, or not JSONL.
    """
    return {key for file in _files(records) for key in _keys(file)}


def _files(records: Iterable[Path]) -> Iterator[Path]:
    for path in records:
        if path.is_dir():
            yield from sorted(path.rglob("*.jsonl"))
        else:
            yield path


def _keys(file: Path) -> Iterator[str]:
    for number, line in enumerate(read_lines(file), start=1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{file}, line {number}: not JSON ({error.msg})") from None
        yield from _named_in(record)


def _named_in(content: Any) -> Iterator[str]:
    """What stands under `calls`, wherever in a record."""
    if isinstance(content, list):
        for part in content:
            yield from _named_in(part)
    elif isinstance(content, dict):
        yield from content.get("calls", ())
        for part in content.values():
            yield from _named_in(part)
