"""The process that forks: it imports what commands need, once, and lets a fork of itself run each of them.

It waits in one place for five things: a client that connects, a client that passes on a signal or is gone, a fork that
has ended, what forks have loaded, and the end of the run. It computes nothing, keeps nothing open and starts no thread,
because a fork would have half of it.
"""

import gc
import os
import selectors
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from cfeval.core.provenance.loading import record
from cfeval.warm import preload
from cfeval.warm.client import FORWARDED, STARTED
from cfeval.warm.request import Command, die_with, differing, receive

_PATIENCE = 5.0
"""Seconds for a client to send its request, and for forks to end by themselves when the run has ended."""


@dataclass
class Parent:
    """What the parent holds.

    Attributes:
        listener: where clients connect.
        life: readable when the process that started the run has ended.
        ended: readable when a fork has ended.
        learnt: what forks have loaded, a module a line.
        tell: where forks write that.
        imports: what to import before a job, by the job's first output.
        events: all that is waited for; a client's connection goes with the process id of its fork.
        jobs: the client of each fork, by process id.
        wanted: modules still to import.
        asked: all modules that were ever wanted.
        told: those that one fork has loaded.
    """

    listener: socket.socket
    life: int
    ended: socket.socket
    learnt: int
    tell: int
    imports: Mapping[str, Sequence[str]]
    events: selectors.BaseSelector = field(default_factory=selectors.PollSelector)
    jobs: dict[int, socket.socket] = field(default_factory=dict)
    wanted: deque[str] = field(default_factory=deque)
    asked: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)


def prepare(listener: socket.socket, life: int, modules: Sequence[str], imports: Mapping[str, Sequence[str]]) -> Parent:
    """Import what all commands need, or only the modules named, and get ready to serve."""
    gc.disable()
    record()
    for module in modules or preload.verbs():
        preload.load(module)
    ended, wake = socket.socketpair()
    ended.setblocking(False)
    wake.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.detach())
    parent = Parent(listener, life, ended, *os.pipe(), imports)
    for source in (listener, life, ended, parent.learnt):
        parent.events.register(source, selectors.EVENT_READ)
    _settle(parent)
    return parent


def serve(parent: Parent) -> Command | None:
    """Serve until the run has ended; then None. In each fork: the request that it is to answer."""
    while True:
        for key, _ in parent.events.select(0 if parent.wanted else None):
            if key.fileobj == parent.life:
                return None
            if key.fileobj == parent.learnt:
                _learn(parent)
            elif key.fileobj is parent.ended:
                _reap(parent)
            elif key.fileobj is not parent.listener:
                _heed(parent, key)
            elif (request := _admitted(parent)) is not None:
                return request
        if parent.wanted:
            preload.load(parent.wanted.popleft())
            _settle(parent)


def finish(parent: Parent) -> None:
    """End all forks: those that do not end by themselves are killed, by the kernel when this process has ended."""
    for process in parent.jobs:
        os.killpg(process, signal.SIGTERM)
    end = time.monotonic() + _PATIENCE
    while parent.jobs and time.monotonic() < end:
        time.sleep(0.02)
        _reap(parent)


def _settle(parent: Parent) -> None:
    """After an import: get ready to fork, or take no client any more where the import forbids it."""
    preload.settle()
    reason = preload.why_not_fork()
    if reason and parent.listener.fileno() >= 0:
        print(f"commands run cold from here on: {reason}", file=sys.stderr, flush=True)
        parent.events.unregister(parent.listener)
        parent.listener.close()


def _admitted(parent: Parent) -> Command | None:
    """Take a client in: in the fork its request, in the parent None."""
    connection, _ = parent.listener.accept()
    connection.settimeout(_PATIENCE)
    request = receive(connection)
    process = None
    if request is not None:
        if names := differing(request):
            print(f"a command runs cold: it has other values of {', '.join(names)}", file=sys.stderr, flush=True)
        process = _forked(parent) if not names and _has_imported(parent, request) else None
        if process == 0:
            connection.close()
            return request
        request.close()
    if process is None:
        connection.close()  # the client runs the command cold
    else:
        with suppress(OSError):  # a client that is gone is noticed as any other
            connection.send(STARTED)
        parent.jobs[process] = connection
        parent.events.register(connection, selectors.EVENT_READ, process)
    return None


def _has_imported(parent: Parent, request: Command) -> bool:
    """Import what a job needs that later ones need too; whether forks are possible afterwards."""
    outputs = map(os.fsdecode, request.arguments[1:2])  # `stage OUTPUT`
    new = [module for output in outputs for module in parent.imports.get(output, ()) if module not in parent.asked]
    parent.asked.update(new)
    for module in new:
        preload.load(module)
    if new:
        _settle(parent)
    return parent.listener.fileno() >= 0


def _forked(parent: Parent) -> int | None:
    """Fork: 0 in the fork, in the parent its process id; None where the system has no room for it.

    In the fork the signals that clients pass on wait until the command runs.
    """
    own = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    try:
        process = os.fork()
    except OSError:
        process = None
    if process == 0:
        die_with(own)
        _forget(parent)
        return 0
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    if process is not None:
        with suppress(OSError):  # the fork was first
            os.setpgid(process, process)
    return process


def _forget(parent: Parent) -> None:
    """In a fork: let go of all that is the parent's. Its own group of processes is the fork's, to be killed as one."""
    os.setpgid(0, 0)
    os.close(signal.set_wakeup_fd(-1))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    parent.events.close()
    for connection in (parent.listener, parent.ended, *parent.jobs.values()):
        connection.close()
    for file in (parent.life, parent.learnt):
        os.close(file)


def _heed(parent: Parent, key: selectors.SelectorKey) -> None:
    """Pass a client's signals on to its fork; a client that is gone takes the fork with it."""
    connection = parent.jobs[key.data]
    try:
        signals = connection.recv(64)
    except OSError:
        signals = b""
    for number in signals:
        if number in FORWARDED:
            os.kill(key.data, number)
    if not signals:
        parent.events.unregister(connection)
        os.killpg(key.data, signal.SIGKILL)


def _reap(parent: Parent) -> None:
    """Tell the clients of the forks that have ended how they did, as a shell does: death by signal is 128 and more."""
    with suppress(BlockingIOError):
        parent.ended.recv(4096)
    while parent.jobs:
        process, status = os.waitpid(-1, os.WNOHANG)
        if process == 0:
            break
        code = os.waitstatus_to_exitcode(status)
        with parent.jobs.pop(process) as connection:
            with suppress(OSError):
                connection.send(bytes([code if code >= 0 else 128 - code]))
            with suppress(KeyError):  # the client was gone before
                parent.events.unregister(connection)


def _learn(parent: Parent) -> None:
    """Import what two commands have loaded; more of their kind will want it too, while one may be the only one."""
    for module in os.read(parent.learnt, 1 << 16).decode().split():
        if module in parent.told and module not in parent.asked:
            parent.asked.add(module)
            parent.wanted.append(module)
        parent.told.add(module)
