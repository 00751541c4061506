"""One run at a time, and what a killed run leaves behind: a stale lock of Snakemake, a broken lock file of DVC.

A live run holds a lock of the operating system, which ends with the process however it was started and however it
ends; Snakemake's own lock files say nothing about that.
"""

import contextlib
import fcntl
import json
import os
import shutil
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path

SNAKEMAKE_LOCKS = Path(".snakemake/locks")
DVC_LOCK = Path(".dvc/tmp/rwlock")
RUN = Path(".cfeval/run.lock")
"""Held by the run that is alive; it names the machine and the process of the last one that began."""
_held: dict[Path, int] = {}
"""The open lock files of this process, by path."""


def complaints(folder: Path) -> Iterator[tuple[Path, str]]:
    """What is wrong, were no run alive: the file or folder to remove, and why."""
    if _locked(folder):
        yield folder / SNAKEMAKE_LOCKS, "the lock of a Snakemake run"
    dvc = folder / DVC_LOCK
    if dvc.is_file() and not _is_json(dvc):
        yield dvc, "DVC cannot read it, and stops"


def take(folder: Path) -> bool:
    """Begin a run here: hold the lock until this process ends; False where another run on this machine is alive.

    A process that holds it already, as one whose workflow takes in this one as a module twice, goes on holding it.
    """
    file = (folder / RUN).absolute()
    if file in _held:
        return True
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return False
    _held[file] = handle
    if not elsewhere(folder):
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{socket.gethostname()} {os.getpid()}\n".encode(), 0)
    return True


def let_go() -> None:
    """Give the lock back before this process ends."""
    while _held:
        os.close(_held.popitem()[1])


def runner(folder: Path) -> int | None:
    """The process of the run that is alive on this machine; None where there is none."""
    with contextlib.suppress(FileNotFoundError), (folder / RUN).open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _named(folder)[1]
    return None


def elsewhere(folder: Path) -> str:
    """The other machine, sharing the folder, on which the run began that Snakemake's lock is of; empty: this one."""
    name = _named(folder)[0]
    return name if _locked(folder) and name not in ("", socket.gethostname()) else ""


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
        and any(Path(word).name in programs for word in (process.info["cmdline"] or [])[:3])  # `python -m dvc` too
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


def _named(folder: Path) -> tuple[str, int]:
    """The machine and the process of the last run that began."""
    try:
        machine, process = (folder / RUN).read_text(encoding="utf-8").split()
    except (FileNotFoundError, ValueError):
        return "", 0
    return machine, int(process)


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True
