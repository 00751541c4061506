"""The process that a command runs in: keys of `.env`, signals, and how it ends.

`.env` gives keys where the environment lacks them; they go only into this process and those it starts. A closed
terminal (SIGHUP) ends a run in order, as SIGTERM does, with nobody left to print to; where SIGHUP is ignored, as under
`nohup`, it stays so.
"""

import atexit
import gc
import os
import re
import signal
import sys
import threading
from pathlib import Path
from typing import NoReturn

KEYS_FILE = Path(".env")
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")


def read_keys(file: Path = KEYS_FILE) -> tuple[str, ...]:
    """Set the variables of a file that the environment lacks, or has empty; returns their names.

    A line is `NAME=VALUE`, in quotes or not; blank lines, comments and whatever else stands there are passed over, so
    that no message can show what may be a key. A file that is not there or cannot be read names none.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ()
    values = {}
    for match in filter(None, map(_LINE.fullmatch, map(str.strip, lines))):
        name, value = match.groups()
        is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        values[name] = value[1:-1] if is_quoted else value.partition(" #")[0].strip()
    missing = {name: value for name, value in values.items() if value and not os.environ.get(name)}
    os.environ.update(missing)
    return tuple(missing)


# What is printed goes to a terminal there; once that is gone, nobody can say so.
_terminals = [fd for fd in (1, 2) if os.isatty(fd)]


def silence_terminal() -> None:
    """Print into nothing where a terminal was: after it is closed, printing is an error."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for fd in _terminals:
        os.dup2(nothing, fd)
    os.close(nothing)


def is_ignored(number: int) -> bool:
    """Whether this process was started so that a signal does nothing."""
    return signal.getsignal(number) in (signal.SIG_IGN, None)


def end_as_by_sigterm() -> None:
    """Have the first SIGHUP do what SIGTERM does here, for a program that knows SIGTERM alone: Snakemake."""

    def hang_up(*_: object) -> None:
        signal.signal(signal.SIGHUP, lambda *_: None)
        silence_terminal()
        os.kill(os.getpid(), signal.SIGTERM)

    if not is_ignored(signal.SIGHUP):
        signal.signal(signal.SIGHUP, hang_up)


def leave(status: int) -> NoReturn:
    """End this process with an exit status; minus SIGINT's number where a shell is to see that Ctrl-C ended it."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        gc.collect()  # what is closed by being forgotten
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # nobody reads any more; 120 is what Python then says
        status = 120
    except KeyboardInterrupt:
        status = -signal.SIGINT
    if "ctypes" in sys.modules:  # what libraries have printed past Python
        sys.modules["ctypes"].CDLL(None).fflush(None)
    if status == -signal.SIGINT:  # a shell ends its loop only where Ctrl-C has ended the command
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status)
