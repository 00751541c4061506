"""Commands begin in a process that has imported Snakemake and DVC already: half of what a short command takes.

Programs of the same names lie in a folder, first on the PATH of tests. Each hands its arguments, folder, environment
and standard streams to a server, which forks; the fork imports the code of cfeval that the environment names, and
nothing of it is imported before. A signal is passed on, and who is killed takes the fork with it.
"""

import contextlib
import gc
import importlib.util
import json
import os
import select
import signal
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from snakemake.cli import get_argument_parser

MOST = 1 << 20
"""Bytes of a request."""
PROGRAMS = {"snakemake": "snakemake.cli:main", "dvc": "dvc.cli:main", "cfeval": "cfeval.cli:main"}
IMPORTED = (
    *("snakemake.executors.local", "snakemake.persistence", "snakemake.report", "smart_open"),
    *("dvc.cli.parser", "dvc.repo", "dvc.commands.repro", "dvc.repo.graph", "dvc.repo.reproduce", "networkx"),
    *("dulwich.porcelain", "ruamel.yaml", "scmrepo.git"),
    *("numpy", "PIL.Image", "pydantic", "rich.progress", "typer", "yaml"),
)
_SPEC = importlib.util.spec_from_file_location(
    "leaving", Path(__file__).parents[2] / "src/cfeval/core/process.py"
)  # by its file: nothing of the package may be imported here
assert _SPEC is not None
assert _SPEC.loader is not None
_LEAVING = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_LEAVING)
_CLIENT = """#!{python} -IS
import json, os, signal, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
asked = json.dumps([{program!r}, sys.argv, os.getcwd(), dict(os.environ)]).encode()
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, lambda number, _: server.send(bytes([number])))
socket.send_fds(server, [len(asked).to_bytes(4, "big")], [0, 1, 2])
server.sendall(asked)
code = int(server.recv(8) or b"-9")
if code < 0:
    signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


def write_programs(folder: Path, address: str) -> None:
    """Write programs that ask the server at an address."""
    for program in PROGRAMS:
        path = folder / program
        path.write_text(_CLIENT.format(python=sys.executable, address=address, program=program))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


def serve(address: str) -> tuple[str, list[str]]:
    """Fork for whoever asks; returns, in a fork, the program that it is to be and its arguments."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen(64)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a fork ended
        while True:
            asking, _ = server.accept()
            if os.fork() == 0:
                server.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                return _taken(asking)
            asking.close()


def _taken(asking: socket.socket) -> tuple[str, list[str]]:
    """Become what is asked for, in a fork that is watched."""
    head, streams, _, _ = socket.recv_fds(asking, 4, 3)
    length, asked = int.from_bytes(head, "big"), b""
    while len(asked) < length:
        asked += asking.recv(min(MOST, length - len(asked)))
    child = os.fork()
    if child:
        with contextlib.suppress(PermissionError):  # it has done so itself, and begun
            os.setpgid(child, child)
        for stream in streams:
            os.close(stream)
        _watch(asking, child)
    asking.close()
    with contextlib.suppress(PermissionError):
        os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    program, arguments, folder, environment = json.loads(asked)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = [place for place in environment.get("PYTHONPATH", "").split(os.pathsep) if place]
    return program, arguments


def _watch(asking: socket.socket, child: int) -> None:
    """Pass signals on, and the status in the end; who asked and is gone has been killed. Does not return."""
    ended = os.pidfd_open(child)
    while ended not in select.select([asking, ended], [], [])[0]:
        for number in asking.recv(16) or (signal.SIGKILL,):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, number)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(OSError):
        asking.sendall(str(code).encode())
    os._exit(0)


def main(address: str) -> None:
    """Import what all need, serve, and be the program that was asked for, to its end."""
    sys.path.pop(0)  # the folder that the server was started in
    sys.dont_write_bytecode = False  # whatever is set here: a study's commands compile its code once
    for name in IMPORTED:
        importlib.import_module(name)
    get_argument_parser()  # finds Snakemake's plugins
    assert "cfeval" not in sys.modules, "the study's own code is to be imported"
    gc.freeze()  # a fork that looked for garbage among all that would copy it
    program, sys.argv = serve(address)
    module, _, name = PROGRAMS[program].partition(":")
    start = sys.modules["__main__"]
    start.__spec__, start.__file__ = None, sys.argv[0]
    leave(lambda: getattr(importlib.import_module(module), name)())


def leave(run: Callable[[], Any]) -> None:
    """Run a program and end as the project's own command does; what is imported here takes a quarter second to undo."""
    code: Any
    try:
        code = run()
    except SystemExit as ended:
        code = ended.code
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
    _LEAVING.leave(1 if isinstance(code, str) else int(code or 0))


if __name__ == "__main__":
    main(sys.argv[1])
