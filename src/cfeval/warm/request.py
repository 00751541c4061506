"""What a client sends, and how a fork becomes the process that the client would have been.

A fork has the imports of the parent and nothing else of it. Open files are put in place beneath Python's own streams,
so that whatever took hold of `sys.stderr` while it was imported, such as a logging handler, writes to the client's.
"""

import ctypes
import gc
import marshal
import os
import signal
import socket
import sys
import tempfile
from dataclasses import dataclass
from io import TextIOWrapper
from typing import NoReturn

from cfeval.core.leaving import leave
from cfeval.warm import preload
from cfeval.warm.client import FORWARDED, GO

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_OF_SHELLS = b"_ OLDPWD PWD SHLVL PS1 PS2 PS4 IFS OPTIND SHELLOPTS BASHOPTS".split()
"""What shells keep for themselves: bash takes PS1, which an activated virtual environment exports, from jobs."""
_CHANGING = frozenset(
    [*_OF_SHELLS, *b"PATH TMPDIR TMP TEMP TEMPDIR CUDA_VISIBLE_DEVICES CFEVAL_CALLS CFEVAL_WARM".split()]
)
"""Variables that are read where they are used. Any other may have been read by a library when it was imported, such as
the number of threads, so a command with another value than the parent's cannot be a fork of it."""

_OWN = dict(os.environb)
"""The parent's environment as it was given, before libraries add to it."""


@dataclass(frozen=True)
class Command:
    """A command: its arguments, environment and file mode mask, and its files 0, 1, 2 and working folder."""

    arguments: list[bytes]
    environment: dict[bytes, bytes]
    mask: int
    files: tuple[int, ...]

    def close(self) -> None:
        """Let go of the files."""
        for file in self.files:
            os.close(file)


def receive(connection: socket.socket) -> Command | None:
    """The request that a client sends; None where it sends none, or a signal comes first."""
    files: list[int] = []
    try:
        head, files, _, _ = socket.recv_fds(connection, 4, 4)
        size = int.from_bytes(head, sys.byteorder)
        text = bytearray()
        while len(text) < size and (more := connection.recv(size - len(text))):
            text += more
        arguments, environment, mask = marshal.loads(text)
        if connection.recv(1) == GO and len(files) == 4:
            return Command(arguments, environment, mask, tuple(files))
    except (OSError, EOFError, ValueError, TypeError):
        pass
    for file in files:
        os.close(file)
    return None


def _may_change(name: bytes) -> bool:
    """Whether a variable may have another value: sh drops what is no identifier, as functions that bash exports."""
    return name in _CHANGING or not os.fsdecode(name).isidentifier()


def differing(request: Command) -> list[str]:
    """The variables for which a fork would not behave as a process that starts with the request's environment."""
    asked = request.environment
    names = (name for name in {*_OWN, *asked} if _OWN.get(name) != asked.get(name) and not _may_change(name))
    return sorted(map(os.fsdecode, names))


def die_with(parent: int) -> None:
    """Let the kernel kill this process when its parent ends, however that comes about."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)


def answer(request: Command, tell: int) -> NoReturn:
    """In a fork: run the command, write to `tell` what it has loaded, and end with its exit status."""
    before, status = preload.loaded(), 1
    try:
        arguments = _become(request)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
        status = _status(arguments)
        for module in sorted(preload.loaded() - before):
            os.write(tell, f"{module}\n".encode())
        os.close(tell)
    finally:
        leave(status)


def _status(arguments: list[str]) -> int:
    """What the command line returns; minus the signal's number where the user has broken it off."""
    try:
        from cfeval import cli  # not before the parent has: tests put something else in its place

        return cli.run(arguments)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1


def _become(request: Command) -> list[str]:
    """Turn this process into the one that the client would have been; returns its arguments."""
    for number, file in enumerate(request.files[:3]):
        os.dup2(file, number)
    os.fchdir(request.files[3])
    request.close()
    os.umask(request.mask)
    for name in filter(_may_change, {*os.environb, *request.environment}):  # libraries may have set the others
        if name in request.environment:
            os.environb[name] = request.environment[name]
        else:
            os.environb.pop(name, None)
    assert isinstance(sys.stdout, TextIOWrapper)
    sys.stdout.reconfigure(line_buffering=os.isatty(1))
    arguments = [os.fsdecode(argument) for argument in request.arguments]
    sys.argv = ["cfeval", *arguments]
    tempfile.tempdir = None
    if "numpy.random" in sys.modules:  # Python's own `random` sees to itself
        sys.modules["numpy.random"].seed()
    gc.enable()
    return arguments
