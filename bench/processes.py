"""A command as a process of its own: how long it took, its CPU time and its peak of memory, seen from outside."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LOOK = 0.02
"""Seconds between two looks at the peak of memory."""


@dataclass(frozen=True)
class Ran:
    """How a process ended. Seconds; CPU of the process and of its children, user and system; peak memory in MiB."""

    status: int
    wall: float
    cpu: float
    peak: float
    said: str = ""
    """The last line on stderr."""


def start(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> "subprocess.Popen[bytes]":
    """Start a command; what it says goes to `folder/said`."""
    with (folder / "said").open("wb") as said:
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=said, cwd=folder)


def run(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> Ran:
    """Run a command to its end."""
    began = time.perf_counter()
    process = start(command, environment, folder)
    peak = 0.0
    while True:
        peak = max(peak, _peak(process.pid))
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(_LOOK)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    lines = (folder / "said").read_text(encoding="utf-8", errors="replace").split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return Ran(process.returncode, wall, used.ru_utime + used.ru_stime, peak, said)


def _peak(pid: int) -> float:
    """The peak of a process's own memory, MiB. What `wait4` says of it may be its parent's, from before `exec`."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0.0
    lines = (line.split() for line in status.split("\n") if line.startswith("VmHWM"))
    return next((int(line[1]) / 1024 for line in lines), 0.0)
