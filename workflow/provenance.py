"""Job records that travel with the files they describe.

Snakemake decides from its records in `.snakemake/metadata` (parameters, code, checksums of the inputs) whether a job
must run. DVC swaps files underneath it: checkout, pull, experiments. Then the records are those of another file, and a
stale file passes for a fresh one. So each phase keeps the records of its files beside them, in `.provenance.json`,
where DVC seals them together. An entry says for one file which rule and command made it (`rule`, `command`), from which
parameters and code (`parameters`: values, backend specifications, fingerprints), from which inputs by SHA-256
(`inputs`, model weights among them), in which software (`software`), and what came out (`sha256`; `pictures`: the image
folder).

`reconcile` runs before Snakemake reads its records. Where the entry beside a file fits its content, and every input
still has the recorded content, the entry becomes the record: an equal file may have come from other parameters since.
Otherwise the record counts only for the very file it was written for and the same inputs; else it is marked stale, and
the job runs again. Nothing is deleted, so a dry run is safe.
`save` writes the entries after a run, without times or absolute paths.
`sweep` removes what no rule makes any more; it is for stages of DVC, which seals whole folders.
"""

import hashlib
import json
import os
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

FORMAT = 6
"""The version of Snakemake's records that this module reads and writes."""
STATE = Path(".snakemake")
SAME_TIME_SECONDS = 1e-3
_STALE = "stale: this file is not what the recorded job made"

Record = dict[str, Any]


@dataclass(frozen=True)
class Sealed:
    """A folder of one phase and the files that the current rules make in it.

    With `pictures`, a record file `X.jsonl` has its images in the folder `X/`. With a `prefix`, the folder is shared,
    and only names that begin with it belong to the phase.
    """

    folder: str
    files: tuple[str, ...]
    pictures: bool = False
    prefix: str = ""

    @property
    def entries(self) -> Path:
        """The file with the entries."""
        return Path(self.folder, f".{self.prefix}provenance.json")

    def existing(self) -> list[str]:
        """Those of the files that are there."""
        return [file for file in self.files if os.path.isfile(file)]

    def pictures_of(self, file: str) -> str | None:
        """The folder with the images of a record file, where such files have one."""
        return os.path.splitext(file)[0] if self.pictures else None


@dataclass
class Outcome:
    """How many records were kept, restored from the entries, or marked stale."""

    kept: int = 0
    restored: int = 0
    stale: int = 0


class Hashes:
    """SHA-256 of files and of folders, remembered while sizes, times and inodes stay the same."""

    def __init__(self, memory: Path) -> None:
        self.memory = memory
        self.known: dict[str, list[str]] = _read(memory)
        self.used: dict[str, list[str]] = {}

    def file(self, path: str) -> str:
        """The hash of a file."""
        return self._remembered(path, _state(os.stat(path)), lambda: _hash_of_file(path))

    def folder(self, path: str) -> str:
        """The hash of the names and contents of a folder's files; a missing folder counts as an empty one.

        It is remembered for the folder as a whole: an entry a picture would be many times what Snakemake itself keeps.
        """
        found = _files(path)
        state = _hash_of_lines(f"{name} {_state(entry.stat())}" for name, entry in found)
        return self._remembered(path, state, lambda: _hash_of_lines(f"{n} {_hash_of_file(e.path)}" for n, e in found))

    def remember(self) -> None:
        """Keep the hashes for the next run."""
        _write(self.memory, self.used)

    def _remembered(self, path: str, state: str, hash_now: Callable[[], str]) -> str:
        found = self.used.get(path) or self.known.get(path)
        self.used[path] = found if found is not None and found[0] == state else [state, hash_now()]
        return self.used[path][1]


@dataclass
class Journal:
    """The records of a working folder and the entries beside its results."""

    sealed: tuple[Sealed, ...]
    state: Path = STATE

    @cached_property
    def hashes(self) -> Hashes:
        """Hashes of the files, kept in the state folder."""
        return Hashes(self.state / "hashes.json")

    def reconcile(self) -> Outcome:
        """Make every record true of the file that lies there now, or mark it stale."""
        outcome = Outcome()
        for part in self.sealed:
            entries = _read(part.entries)
            for file in part.existing():
                self._reconcile(part, file, entries.get(file), outcome)
        self.hashes.remember()
        return outcome

    def save(self) -> None:
        """Write the entry of every file whose record is its own; an older entry stays while it fits the file."""
        for part in self.sealed:
            known = _read(part.entries)
            found = {file: self._entry(part, file, known.get(file)) for file in part.existing()}
            entries = {file: entry for file, entry in found.items() if entry is not None}
            if entries:
                _write(part.entries, entries)
        self.hashes.remember()

    def _reconcile(self, part: Sealed, file: str, entry: Record | None, outcome: Outcome) -> None:
        record = _read(self.record_path(file))
        own = self._is_own(record, file)
        if entry is not None and self._fits(part, file, entry) and self._unchanged(_checksums(entry)):
            if own and _told(record) == _told(_restored(entry, 0)):
                outcome.kept += 1
            else:
                _write(self.record_path(file), _restored(entry, os.stat(file).st_mtime))
                outcome.restored += 1
        elif (
            own and self._made_with(part, file, record, entry) and self._unchanged(record.get("input_checksums") or {})
        ):
            outcome.kept += 1
        else:
            _write(self.record_path(file), _stale(record))
            outcome.stale += 1

    def _is_own(self, record: Record, file: str) -> bool:
        """Whether Snakemake wrote the record for the file that lies there now: it notes the file's time."""
        ended = record.get("endtime")
        return ended is not None and not record.get("incomplete") and _same_time(ended, os.stat(file).st_mtime)

    def _fits(self, part: Sealed, file: str, entry: Record) -> bool:
        """Whether an entry was written for the content that lies there now."""
        pictures = part.pictures_of(file)
        return bool(entry["sha256"] == self.hashes.file(file)) and (
            pictures is None or entry.get("pictures") == self.hashes.folder(pictures)
        )

    def _made_with(self, part: Sealed, file: str, record: Record, entry: Record | None) -> bool:
        """Whether the images are those the job made, as far as times tell: for files that no entry describes yet."""
        pictures = part.pictures_of(file)
        if pictures is None:
            return True
        if entry is not None and entry["sha256"] == self.hashes.file(file):
            return False
        times = [picture.stat().st_mtime for _, picture in _files(pictures)]
        return os.path.isdir(pictures) and max(times, default=0.0) <= record["endtime"] + SAME_TIME_SECONDS

    def _unchanged(self, checksums: Mapping[str, str]) -> bool:
        """Whether the inputs that are there have the recorded content; times mean nothing after a checkout."""
        there = {path: checksum for path, checksum in checksums.items() if os.path.isfile(path)}
        return all(f"sha256:{self.hashes.file(path)}" == checksum for path, checksum in there.items())

    def _entry(self, part: Sealed, file: str, known: Record | None) -> Record | None:
        record = _read(self.record_path(file))
        if not self._is_own(record, file):
            return known if known is not None and self._fits(part, file, known) else None
        checksums = record.get("input_checksums") or {}
        entry = {
            "rule": record["rule"],
            "command": record["code"],
            "parameters": record["params"],
            "inputs": {path: checksums.get(path) for path in record["input"]},
            "software": record["software_stack_hash"],
            "sha256": self.hashes.file(file),
        }
        pictures = part.pictures_of(file)
        return entry if pictures is None else entry | {"pictures": self.hashes.folder(pictures)}

    def record_path(self, file: str) -> Path:
        """Where Snakemake keeps the record of an output: its path in base64, cut at the longest allowed name."""
        name = urlsafe_b64encode(file.encode()).decode()
        longest = os.pathconf("/", "PC_NAME_MAX") - 1
        parts = [name[i : i + longest] for i in range(0, len(name), longest)]
        return self.state.joinpath("metadata", *(f"@{part}" for part in parts[:-1]), parts[-1])


def sweep(part: Sealed) -> list[str]:
    """Remove the files of a phase that no rule makes any more, and folders left empty; returns what went."""
    makes = set(part.files) | {str(part.entries)}
    inside = {folder for file in part.files if (folder := part.pictures_of(file)) is not None}
    stray = [file for file in _walk(part) if file not in makes and os.path.dirname(file) not in inside]
    for file in stray:
        os.unlink(file)
    if not part.prefix:
        _drop_empty(part.folder, keep=inside)
    return stray


def _walk(part: Sealed) -> Iterator[str]:
    if part.prefix:
        yield from (file.path for name, file in _files(part.folder) if name.startswith(part.prefix))
        return
    for folder, _, names in os.walk(part.folder):
        yield from (os.path.join(folder, name) for name in names)


def _drop_empty(folder: str, keep: Iterable[str]) -> None:
    for path, _, _ in os.walk(folder, topdown=False):
        if path not in keep and path != folder and not os.listdir(path):
            os.rmdir(path)


def _files(folder: str) -> list[tuple[str, os.DirEntry[str]]]:
    """The files in a folder by name, none where there is no folder."""
    try:
        with os.scandir(folder) as found:
            return sorted(((entry.name, entry) for entry in found if entry.is_file()), key=itemgetter(0))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _state(stat: os.stat_result) -> str:
    """What of a file changes when its content does."""
    return f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ino}"


def _hash_of_file(path: str) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _hash_of_lines(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def _checksums(entry: Record) -> dict[str, str]:
    return {path: checksum for path, checksum in entry["inputs"].items() if checksum is not None}


def _restored(entry: Record, time: float) -> Record:
    """A record as Snakemake would have written it for this file."""
    return _blank() | {
        "rule": entry["rule"],
        "code": entry["command"],
        "params": entry["parameters"],
        "input": sorted(entry["inputs"]),
        "input_checksums": _checksums(entry),
        "software_stack_hash": entry["software"],
        "starttime": time,
        "endtime": time,
    }


def _told(record: Record) -> tuple[Any, ...]:
    """What Snakemake compares of a record, times aside."""
    return tuple(
        record.get(key) for key in ("rule", "code", "params", "input", "input_checksums", "software_stack_hash")
    )


def _stale(record: Record) -> Record:
    """The record with parameters that no job has, and with no time, so that it counts for no file."""
    return _blank() | record | {"params": [_STALE], "starttime": None, "endtime": None, "record_format_version": FORMAT}


def _blank() -> Record:
    return {
        "rule": "",
        "input": [],
        "log": [],
        "shellcmd": None,
        "params": [],
        "code": None,
        "record_format_version": FORMAT,
        "conda_env": None,
        "container_img_url": None,
        "software_stack_hash": None,
        "job_hash": 0,
        "starttime": None,
        "endtime": None,
        "incomplete": False,
        "external_jobid": None,
        "input_checksums": {},
    }


def _same_time(one: float, other: float) -> bool:
    return abs(one - other) < SAME_TIME_SECONDS


def _read(path: Path) -> dict[str, Any]:
    """The JSON object in a file; an empty one where there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON if it differs; by renaming, so that a file that DVC links to its cache is not written through."""
    text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    building = path.with_name(f"{path.name[:200]}.{os.getpid()}.part")
    building.write_text(text, encoding="utf-8")
    os.replace(building, path)
