"""A process beside a server: it starts it, waits, and ends it with all that it started once its own starter is gone.

    python -m cfeval.inference.serving.keeper FD COMMAND...

FD is the reading end of a pipe whose other end only the starter holds: however the starter ends, also by SIGKILL, the
pipe closes. Locks of leased GPUs are inherited, so that a GPU counts as taken as long as anything of the server lives.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress

import psutil

# Seconds that a server has to end by itself.
GRACE = 10.0
# Seconds between two looks whether the server is still there.
_LOOK = 0.2
# What a terminal or a scheduler sends to all processes of a run.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER of Linux.
_DIES_WITH_PARENT, _ADOPTS_ORPHANS = 1, 36


def keep(pipe: int, command: list[str]) -> int:
    """Run a server until it ends or the pipe closes; its exit status, or 0 where it was ended."""
    for number in _SIGNALS:  # who starts us also ends us, by the pipe
        signal.signal(number, signal.SIG_IGN)
    _control(_ADOPTS_ORPHANS, 1)  # what a server leaves behind is then ours to end
    locks = [int(fd) for fd in os.environ.get("CFEVAL_LOCKS", "").split(",") if fd]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, process_group=0, pass_fds=locks, preexec_fn=_die_with_parent
    )
    while process.poll() is None:
        if select.select([pipe], [], [], _LOOK)[0]:
            _end(process)
            return 0
    _end(process)
    return process.returncode


def _die_with_parent() -> None:
    """In the server's own process, before its program starts; signals are heeded there again."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    _control(_DIES_WITH_PARENT, signal.SIGKILL)


def _control(what: int, value: int) -> None:
    """Set something of this process, where the system is Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(what, value)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ask a server to end, then end it and whatever it has started."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            one.kill()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


if __name__ == "__main__":
    sys.exit(keep(int(sys.argv[1]), sys.argv[2:]))
