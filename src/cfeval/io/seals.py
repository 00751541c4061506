"""The hashes that the workflow keeps beside results (`.provenance.json`): of each file and of what it was made from.

They tie the files of the stages together; see `workflow/provenance.py`, which writes them.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

ENTRIES = ".provenance.json"


class Entry(BaseModel):
    """What this module reads of an entry: hashes of the file, of its inputs by path, of the folder of its pictures."""

    sha256: str
    inputs: dict[str, str | None] = {}
    pictures: str | None = None


def seal_faults(results: Path, files: Iterable[Path] = ()) -> Iterator[tuple[Path, str]]:
    """What is wrong with each file and input under a folder of results that an entry names; empty where nothing is.

    Where any phase has entries, each of `files` must be named by those of its own. Nothing comes of results without
    any: the verbs write none. Inputs that lie elsewhere, such as weights, are left aside.
    """
    hash_of, sealed = cache(_hash_of), set[Path]()
    found = sorted(results.glob(f"*/{ENTRIES}"))
    for entries in found:
        try:
            known = TypeAdapter(dict[str, Entry]).validate_json(entries.read_bytes())
        except (ValidationError, OSError):
            yield entries, "cannot be read"
            continue
        for name, entry in sorted(known.items()):
            root = _root(name, entries.parent)
            sealed.add(results / name.removeprefix(root))
            yield from _faults(results, root, name, entry, hash_of)
    for file in sorted(set(files) - sealed) if found else ():
        yield file, f"no seal: {file.relative_to(results).parts[0]}/{ENTRIES} does not name it"


def _faults(
    results: Path, root: str, name: str, entry: Entry, hash_of: Callable[[Path], str]
) -> Iterator[tuple[Path, str]]:
    file = results / name.removeprefix(root)
    yield file, "" if hash_of(file) == entry.sha256 else f"is not the file that {ENTRIES} beside it names"
    if entry.pictures is not None:
        same = _hash_of_folder(file.with_suffix(""), hash_of) == entry.pictures
        yield file, "" if same else f"its pictures are not those that {ENTRIES} names"
    for path, checksum in sorted(entry.inputs.items()):
        if checksum is not None and path.startswith(root):
            same = checksum == f"sha256:{hash_of(results / path.removeprefix(root))}"
            yield file, "" if same else f"was made from another {path.removeprefix(root)} than lies there now"


def _root(name: str, folder: Path) -> str:
    """What a path had before the folder's name when the entry was written: results may have been moved since."""
    parts = name.split("/")
    places = [n for n, part in enumerate(parts) if part == folder.name]
    there = [n for n in places if folder.joinpath(*parts[n + 1 :]).is_file()]
    return "/".join([*parts[: (there or places or [0])[0]], ""])


def _hash_of(path: Path) -> str:
    """The hash of a file; empty where there is none."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def _hash_of_folder(folder: Path, hash_of: Callable[[Path], str]) -> str:
    """The hash of the names and contents of a folder's files."""
    files = sorted(file for file in folder.iterdir() if file.is_file()) if folder.is_dir() else []
    return hashlib.sha256("".join(f"{file.name} {hash_of(file)}\n" for file in files).encode()).hexdigest()
