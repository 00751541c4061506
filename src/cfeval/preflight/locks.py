"""What a killed run leaves behind: a stale lock of Snakemake, a broken lock file of DVC; seen and removed."""

import json
import shutil
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path

SNAKEMAKE_LOCKS = Path(".snakemake/locks")
DVC_LOCK = Path(".dvc/tmp/rwlock")
MACHINE = Path(".snakemake/machine")
"""Names the machine on which the last run began: of the processes of another, this one knows nothing."""


def complaints(folder: Path) -> Iterator[tuple[Path, str]]:
    """What is wrong, were no run alive: the file or folder to remove, and why."""
    if _locked(folder):
        yield folder / SNAKEMAKE_LOCKS, "the lock of a Snakemake run"
    dvc = folder / DVC_LOCK
    if dvc.is_file() and not _is_json(dvc):
        yield dvc, "DVC cannot read it, and stops"


def sign(folder: Path) -> None:
    """Note that a run begins on this machine, unless another holds the lock."""
    if not _locked(folder):
        (folder / MACHINE).parent.mkdir(exist_ok=True)
        (folder / MACHINE).write_text(socket.gethostname(), encoding="utf-8")


def elsewhere(folder: Path) -> str:
    """The other machine, sharing the folder, on which the run began that holds the lock; empty where it is this one."""
    try:
        name = (folder / MACHINE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    return name if _locked(folder) and name != socket.gethostname() else ""


def alive(folder: Path, programs: Iterable[str]) -> list[int]:
    """The processes of these programs that work in a folder, this process and those that started it left out."""
    import psutil

    here = folder.resolve()
    own = {process.pid for process in (psutil.Process(), *psutil.Process().parents())}
    return [
        process.pid
        for process in psutil.process_iter(["cmdline", "cwd"])
        if process.pid not in own
        and process.info["cwd"] == str(here)
        and any(Path(word).name in programs for word in (process.info["cmdline"] or [])[:2])
    ]


def remove(path: Path) -> None:
    """Remove a file or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _locked(folder: Path) -> bool:
    locks = folder / SNAKEMAKE_LOCKS
    return locks.is_dir() and any(locks.iterdir())


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True
