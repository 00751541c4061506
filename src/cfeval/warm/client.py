"""What a job starts as `cfeval`: it lets a fork of the warm parent run the command, or runs it itself, cold.

It stands alone and imports next to nothing, because its own start is what is left of a command's start: `_socket` and
`_signal` are what `socket` and `signal` wrap in enumerations, which take longer to import than all the rest.

Sent: the length of the request, with the open files 0, 1, 2 and the working folder; the request; GO; then a byte for
each signal that came in. Received: STARTED and, at the end, the exit status. A connection that closes before STARTED
means that the command has not run. Signals are passed on before GO is sent, so that none ends this process but not the
command; one that comes before GO keeps the command from running.
"""

import marshal
import os
import sys
from _signal import SIG_DFL, SIG_IGN, SIGHUP, SIGINT, SIGQUIT, SIGTERM, getsignal, signal  # type: ignore[import-not-found, unused-ignore]
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket

VARIABLE = "CFEVAL_WARM"
"""Names the parent's socket; where it is empty, every command runs cold."""
GO = b"\0"
STARTED = b"\n"
FORWARDED = (int(SIGHUP), int(SIGINT), int(SIGQUIT), int(SIGTERM))
_came: list[int] = []
"""Signals that were passed on."""
_LOST = 137
"""The exit status where the parent is gone: the kernel killed the fork with it."""


def main() -> None:
    """Run `cfeval` with this process' arguments."""
    address = os.environ.get(VARIABLE)
    if getsignal(SIGINT) is not SIG_IGN:
        signal(SIGINT, SIG_DFL)  # before the command has started, a signal ends this process without a traceback
    connection = _handed_over(address) if address else None
    if connection is None:
        for number in _came:
            signal(number, SIG_DFL)
            os.kill(os.getpid(), number)
        os.execv(sys.executable, [sys.executable, "-P", "-m", "cfeval.cli", *sys.argv[1:]])
    try:
        status = connection.recv(1)
    except OSError:
        status = b""
    if not status:
        os.write(2, b"cfeval: the process that was to run this command has been killed; run it again\n")
    os._exit(status[0] if status else _LOST)


def _handed_over(address: str) -> socket | None:
    """The connection to the parent, which has started the command; None where it has not."""
    mask = os.umask(0)
    os.umask(mask)
    arguments = [os.fsencode(argument) for argument in sys.argv[1:]]
    request = marshal.dumps((arguments, dict(os.environb), mask))
    try:
        connection = socket(AF_UNIX, SOCK_STREAM)
        connection.connect(address)
        folder = os.open(".", os.O_RDONLY)
        files = b"".join(file.to_bytes(4, sys.byteorder) for file in (0, 1, 2, folder))
        head = len(request).to_bytes(4, sys.byteorder)
        connection.sendmsg([head], [(SOL_SOCKET, SCM_RIGHTS, files)])
        connection.sendall(request)
        os.close(folder)
        _forward_signals(connection)
        connection.send(GO)
        return connection if connection.recv(1) == STARTED else None
    except OSError:
        return None


def _forward_signals(connection: socket) -> None:
    """Let the fork have the signals that end a command; this process ends when the fork has."""

    def forward(number: int, _frame: object) -> None:
        _came.append(number)
        try:  # noqa: SIM105 - contextlib takes long to import
            connection.send(bytes([number]))
        except OSError:
            pass  # the fork has ended, and its exit status is on the way

    for number in FORWARDED:
        if getsignal(number) is not SIG_IGN:
            signal(number, forward)


if __name__ == "__main__":
    main()
