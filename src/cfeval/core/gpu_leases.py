"""Which GPUs a process computes on: each process leases its own among those that this machine shows it.

A lease is a lock on a file of the user's, named after the device. The system itself lets go of it when the process
ends, however that comes about, and another process that waits gets the device. Nothing is leased where only one device
is shown, as to a job of Slurm. Devices are counted without torch, which has to find the leased ones alone.
"""

import fcntl
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cfeval.core.errors import PluginError

VARIABLE = "CUDA_VISIBLE_DEVICES"
_DRIVER = Path("/dev")
_PATIENCE = 0.5
"""Seconds between two looks for a free device."""
_held: list[int] = []
"""Locks of this process; never closed, so that they last as long as it does."""
_given: list[str] = []
"""The devices that it was given, where the user did not choose."""


def visible() -> tuple[str, ...]:
    """The devices that this process may use, by the names that CUDA_VISIBLE_DEVICES has for them."""
    named = os.environ.get(VARIABLE)
    if named is None:
        files = [file for file in _DRIVER.glob("nvidia*") if re.fullmatch(r"nvidia\d+", file.name)]
        return tuple(map(str, range(len(files))))
    names = [name.strip() for name in named.split(",")]
    ends = next((place for place, name in enumerate(names) if name in ("", "-1")), len(names))
    return tuple(names[:ends])


def take(count: int, numbered: Sequence[int] = ()) -> None:
    """Lease devices for this process, once, and let CUDA see no other; waits until so many are free.

    Args:
        count: how many; all, where there are fewer.
        numbered: devices that the user has chosen, as in `cuda:1`. They are the user's choice even where they are in
            use, and what CUDA sees stays as it is, because their numbers would change with it.

    Raises:
        PluginError: a number is named after devices were leased, or the folder of the locks is another user's.
    """
    if numbered and _given:
        raise PluginError(
            f"device 'cuda:{numbered[0]}': another model of the same job, whose device is auto, was given a GPU "
            "already; number the devices of all models of a job, or of none"
        )
    devices = visible()
    if _held or len(devices) < 2:
        return
    folder = _folder()
    if numbered:
        for number in numbered:
            if number < len(devices):
                _held.extend(_locked(folder, devices[number : number + 1], 1).values())
        return
    found = _waited(folder, devices, min(count, len(devices)))
    _held.extend(found.values())
    _given.extend(found)
    os.environ[VARIABLE] = ",".join(found)


def free(most: int) -> dict[str, int]:
    """Devices that nobody has leased, each with its lock: at most so many of those that this machine shows.

    Whoever asks holds them until it closes the locks, or hands these down to a process that is to hold them.
    """
    return _locked(_folder(), visible(), most)


def _waited(folder: Path, devices: Sequence[str], count: int) -> dict[str, int]:
    told = False
    while len(found := _locked(folder, devices, count)) < count:
        for lock in found.values():  # never wait with something in hand that another waits for
            os.close(lock)
        if not told:
            print(f"waiting for {count} of {len(devices)} GPUs; other jobs have leased them", file=sys.stderr)
            told = True
        time.sleep(_PATIENCE)
    return found


def _locked(folder: Path, devices: Sequence[str], count: int) -> dict[str, int]:
    """The first so many devices that nobody holds, each with its lock."""
    found: dict[str, int] = {}
    for device in devices:
        if len(found) == count:
            break
        lock = os.open(folder / device.replace("/", "_"), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            found[device] = lock
    return found


def _folder() -> Path:
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
