"""Locks of the operating system: which GPUs a process computes on, and one run of a study at a time.

The system releases a lock when its process ends, however that comes about. A lease of a GPU is a lock on a file of the
user's, named after the device: each process leases its own among those that this machine shows it, and one that waits
gets the device of one that ends. Nothing is leased where only one device is shown, as to a job of Slurm. Devices are
counted without torch, which has to find the leased ones alone.

A run holds a lock in the folder of its study; Snakemake's own lock files do not say whether a run is alive.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from cfeval.core.errors import PluginError

VISIBLE_GPUS = "CUDA_VISIBLE_DEVICES"
_DRIVER = Path("/dev")
# Seconds between two looks for a free device.
_PATIENCE = 0.5
# Locks of this process; never closed, so that they last as long as it does.
_leases: list[int] = []
# The devices that it was given, where the user did not choose.
_chosen: list[str] = []


def visible_gpus() -> tuple[str, ...]:
    """The devices that this process may use, by the names that CUDA_VISIBLE_DEVICES has for them."""
    named = os.environ.get(VISIBLE_GPUS)
    if named is None:
        files = [file for file in _DRIVER.glob("nvidia*") if re.fullmatch(r"nvidia\d+", file.name)]
        return tuple(map(str, range(len(files))))
    names = [name.strip() for name in named.split(",")]
    ends = next((place for place, name in enumerate(names) if name in ("", "-1")), len(names))
    return tuple(names[:ends])


def lease_gpus(count: int, numbered: Sequence[int] = ()) -> None:
    """Lease devices for this process, once, and let CUDA see no other; waits until so many are free.

    Args:
        count: how many; all, where there are fewer.
        numbered: devices that the user has chosen, as in `cuda:1`. They are the user's choice even where they are in
            use, and what CUDA sees stays as it is, because their numbers would change with it.

    Raises:
        PluginError: a number is named after devices were leased, or the folder of the locks is another user's.
    """
    if numbered and _chosen:
        raise PluginError(
            f"device 'cuda:{numbered[0]}': another model of the same job, whose device is auto, was given a GPU "
            "already; number the devices of all models of a job, or of none"
        )
    devices = visible_gpus()
    if _leases or len(devices) < 2:
        return
    folder = _lease_folder()
    if numbered:
        for number in numbered:
            if number < len(devices):
                _leases.extend(_lease_free(folder, devices[number : number + 1], 1).values())
        return
    leased = _wait_for_leases(folder, devices, min(count, len(devices)))
    _leases.extend(leased.values())
    _chosen.extend(leased)
    os.environ[VISIBLE_GPUS] = ",".join(leased)


def free_gpus(most: int) -> dict[str, int]:
    """Devices that nobody has leased, each with its lock: at most so many of those that this machine shows.

    Whoever asks holds them until it closes the locks, or hands these down to a process that is to hold them.
    """
    return _lease_free(_lease_folder(), visible_gpus(), most)


def _wait_for_leases(folder: Path, devices: Sequence[str], count: int) -> dict[str, int]:
    is_reported = False
    while len(leased := _lease_free(folder, devices, count)) < count:
        for lock in leased.values():  # never wait with something in hand that another waits for
            os.close(lock)
        if not is_reported:
            print(f"waiting for {count} of {len(devices)} GPUs; other jobs have leased them", file=sys.stderr)
            is_reported = True
        time.sleep(_PATIENCE)
    return leased


def _lease_free(folder: Path, devices: Sequence[str], count: int) -> dict[str, int]:
    """The first so many devices that nobody holds, each with its lock."""
    leased: dict[str, int] = {}
    for device in devices:
        if len(leased) == count:
            break
        lock = os.open(folder / device.replace("/", "_"), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            leased[device] = lock
    return leased


def _lease_folder() -> Path:
    """Where the locks lie: on this machine, the user's own; a job of Slurm counts its own devices from 0, so it has one
    of its own."""
    user = os.getuid()
    job = os.environ.get("SLURM_JOB_ID", "")
    folder = Path(tempfile.gettempdir(), f"cfeval-{user}", f"gpus{job and '-'}{job}")
    for path in (folder.parent, folder):
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        if path.stat().st_uid != user or path.is_symlink():
            raise PluginError(f"{path}: not this user's folder, so no GPU can be leased there; remove it or set TMPDIR")
    return folder


SNAKEMAKE_LOCKS = Path(".snakemake/locks")
DVC_LOCK = Path(".dvc/tmp/rwlock")
# Held by the run that is alive; it names the machine and the process of the last one that began.
RUN_LOCK = Path(".cfeval/run.lock")
# The open lock files of this process, by path.
_run_locks: dict[Path, int] = {}


def leftover_locks(folder: Path) -> Iterator[tuple[Path, str]]:
    """What is wrong, were no run alive: the file or folder to remove, and why."""
    if _snakemake_is_locked(folder):
        yield folder / SNAKEMAKE_LOCKS, "the lock of a Snakemake run"
    dvc = folder / DVC_LOCK
    if dvc.is_file() and not _is_json(dvc):
        yield dvc, "DVC cannot read it, and stops"


def begin_run(folder: Path) -> bool:
    """Begin a run here: hold the lock until this process ends; False where another run on this machine is alive.

    A process that holds it already, as one whose workflow takes in this one as a module twice, goes on holding it.
    """
    file = (folder / RUN_LOCK).absolute()
    if file in _run_locks:
        return True
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return False
    _run_locks[file] = handle
    if not running_elsewhere(folder):
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{socket.gethostname()} {os.getpid()}\n".encode(), 0)
    return True


def release_run() -> None:
    """Give the lock back before this process ends."""
    while _run_locks:
        os.close(_run_locks.popitem()[1])


def running_process(folder: Path) -> int | None:
    """The process of the run that is alive on this machine; None where there is none."""
    with contextlib.suppress(FileNotFoundError), (folder / RUN_LOCK).open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _last_run(folder)[1]
    return None


def running_elsewhere(folder: Path) -> str:
    """The other machine, sharing the folder, on which the run began that Snakemake's lock is of; empty: this one."""
    name = _last_run(folder)[0]
    return name if _snakemake_is_locked(folder) and name not in ("", socket.gethostname()) else ""


def live_processes(folder: Path, programs: Iterable[str]) -> list[int]:
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


def _snakemake_is_locked(folder: Path) -> bool:
    locks = folder / SNAKEMAKE_LOCKS
    return locks.is_dir() and any(locks.iterdir())


def _last_run(folder: Path) -> tuple[str, int]:
    """The machine and the process of the last run that began."""
    try:
        machine, process = (folder / RUN_LOCK).read_text(encoding="utf-8").split()
    except (FileNotFoundError, ValueError):
        return "", 0
    return machine, int(process)


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True
