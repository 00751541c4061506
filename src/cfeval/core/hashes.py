"""SHA-256 of files and folders, remembered while size, times and inode stay the same.

The time of the last change counts too (ctime), which nobody but the system sets. What is younger than two seconds is
hashed and not remembered: it may change once more within the same tick of a file system's clock.
"""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Any

# Where this machine keeps what it would otherwise work out again; it can be removed at any time.
MEMORY = Path(".cfeval")
_SETTLED_NS = 2_000_000_000
# A file that Snakemake puts into every folder that a rule declares.
STAMP = ".snakemake_timestamp"


NAMES = "names:"
"""What a hash of a folder begins with for which only the names of its files count."""


class Hashes:
    """Hashes of files and folders; None where there is none.

    Args:
        memory: the file that keeps them for the next process; empty: nothing is kept.
    """

    def __init__(self, memory: Path | None = None) -> None:
        self._memory = memory
        self._stored: dict[str, list[str]] = read_json(memory) if memory else {}
        self._used: dict[str, list[str]] = {}
        self._young: set[str] = set()

    def file(self, path: str) -> str | None:
        """The hash of a file's bytes; of what is none, as a folder, there is no hash."""
        try:
            stat = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not S_ISREG(stat.st_mode):
            return None
        return self._hash(path, state_of(stat), stat.st_ctime_ns, lambda: _of_file(path))

    def folder(self, path: str) -> str:
        """The hash of the names and contents of the files in a folder, of its subfolders too; remembered as a whole.

        A missing folder counts as an empty one: neither git nor DVC keeps an empty folder.
        """
        state, newest = state_of_folder(path)
        return self._hash(path, state, newest, lambda: _of_names(path, _files(path)))

    def path(self, path: str) -> str | None:
        """The hash of a file or, where the name ends with a slash, of a folder."""
        return self.folder(path) if path.endswith("/") else self.file(path)

    def again(self, path: str, was: str | None) -> str | None:
        """The hash of a file or folder now, of the kind that an earlier one is of: `of_names`, or that of `path`."""
        return of_names(path) if was and was.startswith(NAMES) else self.path(path)

    def remember(self) -> None:
        """Keep the hashes for the next process."""
        kept = {path: state for path, state in self._used.items() if path not in self._young}
        if self._memory is not None and kept != self._stored:
            write_json(self._memory, kept)

    def _hash(self, path: str, state: str, changed: int, hash_now: Callable[[], str]) -> str:
        entry = self._used.get(path) or self._stored.get(path)
        if entry is None or entry[0] != state or path in self._young:
            entry = [state, hash_now()]
        if changed > time.time_ns() - _SETTLED_NS:
            self._young.add(path)
        else:
            self._young.discard(path)
        self._used[path] = entry
        return entry[1]


def state_of(stat: os.stat_result) -> str:
    """What of a file changes when its content does."""
    return f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}"


def state_of_folder(path: str) -> tuple[str, int]:
    """What of a folder changes when the content of its files does, and when the last of them changed (ctime, ns)."""
    state, newest = hashlib.sha256(), 0
    for name in _files(path):
        try:
            stat = os.stat(os.path.join(path, name))
        except OSError:  # a link to nothing
            state.update(f"{name}\n".encode("utf-8", "surrogateescape"))
            continue
        state.update(f"{name} {state_of(stat)}\n".encode("utf-8", "surrogateescape"))
        newest = max(newest, stat.st_ctime_ns)
    return state.hexdigest(), newest


def of_names(folder: str) -> str:
    """The hash of the names of the files in a folder, of its subfolders too, whatever they hold."""
    return NAMES + digest("\n".join(_files(folder)).encode("utf-8", "surrogateescape"))


def of_files_in(folder: str, endings: tuple[str, ...]) -> str:
    """What `Hashes.folder` would be if a folder held nothing but its own files with these endings."""
    return _of_names(folder, [name for name in _files(folder, deep=False) if name.endswith(endings)])


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes, as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; an empty one where there is none, or something else."""
    try:
        content = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a memory whole or not at all; one that cannot be written is done without."""
    building = path.with_name(f"{path.name}.{os.uname().nodename}.{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        building.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")
        building.replace(path)


def _of_file(path: str) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _of_names(folder: str, names: list[str]) -> str:
    """The hash of some names in a folder, and of what is in these files."""
    lines = hashlib.sha256()
    for name in names:
        lines.update(f"{name} {_of_entry(os.path.join(folder, name))}\n".encode("utf-8", "surrogateescape"))
    return lines.hexdigest()


def _of_entry(path: str) -> str:
    """The hash of a file in a folder, or a word for what has no content that can be read."""
    with contextlib.suppress(OSError):
        if S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
            return _of_file(path)
    return "unreadable"


def _files(folder: str, deep: bool = True) -> list[str]:
    """The files below a folder, or in it, by their relative names, in order; none where it is missing."""
    names: list[str] = []
    if not os.path.isdir(folder):
        return names
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name == STAMP:
                continue
            if entry.is_dir():
                # A link to a folder that holds this one would be followed without an end.
                if deep and not (
                    entry.is_symlink() and Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(entry.path))
                ):
                    with contextlib.suppress(PermissionError):
                        names += [f"{entry.name}/{name}" for name in _files(entry.path)]
            else:
                names.append(entry.name)
    return sorted(names)
