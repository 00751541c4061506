"""A closed terminal (SIGHUP) ends a run in order, as SIGTERM does; nobody is left to print to.

Where SIGHUP is ignored, as under `nohup`, it stays so.
"""

import os
import signal

_terminals = [fd for fd in (1, 2) if os.isatty(fd)]
"""What is printed goes to a terminal there; once that is gone, nobody can say so."""


def silence() -> None:
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
        silence()
        os.kill(os.getpid(), signal.SIGTERM)

    if not is_ignored(signal.SIGHUP):
        signal.signal(signal.SIGHUP, hang_up)
