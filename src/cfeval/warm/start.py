"""Start the warm parent for a run: a private folder with its socket and the client, first on PATH as `cfeval`."""

import json
import os
import py_compile
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from cfeval.warm import client

_LIBRARIES = ("OMP_NUM", "GOTO_NUM", "OPENBLAS_NUM", "MKL_NUM", "VECLIB_MAXIMUM", "NUMEXPR_NUM")
_ONE_THREAD = {f"{library}_THREADS": "1" for library in _LIBRARIES}
"""What Snakemake sets for a job of one thread. Libraries read it when they are imported; other jobs run cold."""
_running: list["Warm"] = []
"""Parents that were started: they end when nobody holds them any more, and a caller may let go of what it is given."""
IMPORTS = "imports.json"
"""The file in the parent's folder that says what to import before which job."""
_LONGEST = 100
"""Bytes that the path of a socket may have, a few less than the kernel's limit."""


@dataclass(frozen=True)
class Warm:
    """A parent that was started.

    Attributes:
        process: the parent.
        life: the pipe that tells it, when it closes, that the run has ended.
        folder: its socket and the client.
        environment: where PATH and CFEVAL_WARM were set.
    """

    process: "subprocess.Popen[bytes]"
    life: BinaryIO
    folder: Path
    environment: MutableMapping[str, str]

    def stop(self) -> None:
        """End the parent and whatever it still runs; commands run cold from here on."""
        if self in _running:
            _running.remove(self)
        self.process.terminate()
        self.process.wait()
        self.life.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.environment.pop(client.VARIABLE, None)
        paths = self.environment.get("PATH", "").split(os.pathsep)
        self.environment["PATH"] = os.pathsep.join(path for path in paths if path != str(self.folder))


def start(
    log: Path,
    modules: Sequence[str] = (),
    environment: MutableMapping[str, str] = os.environ,
    imports: Mapping[str, Sequence[str]] | None = None,
) -> Warm | None:
    """Start a parent that ends with this process, however that ends, and let `cfeval` be its client.

    It returns at once: the first clients wait for the parent's imports, as they would for their own.

    Args:
        log: where the parent writes what goes wrong.
        modules: what it imports at first; empty: all verbs.
        environment: the environment of the jobs; PATH and CFEVAL_WARM are set in it. Where CFEVAL_WARM is empty
            already, no parent is wanted.
        imports: what it imports before it forks for `cfeval stage OUTPUT`, by output.

    Returns:
        The parent; None where there can be none, and commands run cold as ever.
    """
    if sys.platform != "linux" or environment.get(client.VARIABLE) == "":
        return None
    try:
        folder = _folder()
    except OSError:
        return None
    life, held = os.pipe()
    try:
        with socket.socket(socket.AF_UNIX) as listener, _opened(log) as written:
            listener.bind(f"{folder}/s")
            listener.listen(128)
            _write_client(folder)
            (folder / IMPORTS).write_text(json.dumps(imports or {}), encoding="utf-8")
            own = {client.VARIABLE: f"{folder}/s", "PATH": f"{folder}{os.pathsep}{environment.get('PATH', os.defpath)}"}
            command = [sys.executable, "-P", "-m", "cfeval.warm"]
            process = subprocess.Popen(
                [*command, str(listener.fileno()), str(life), str(folder), *modules],
                env={**environment, **own, **_ONE_THREAD},
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=written,
                pass_fds=(listener.fileno(), life),
                start_new_session=True,
            )
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)
        return None
    finally:
        os.close(life)
    environment.update(own)
    warm = Warm(process, os.fdopen(held, "wb", buffering=0), folder, environment)
    _running.append(warm)
    return warm


def _folder() -> Path:
    """A folder of this user alone, by a name short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="cfeval-"))
    if len(os.fsencode(folder)) + 2 <= _LONGEST:
        return folder
    folder.rmdir()
    return Path(tempfile.mkdtemp(prefix="cfeval-", dir="/tmp"))


def _opened(log: Path) -> BinaryIO:
    log.parent.mkdir(parents=True, exist_ok=True)
    return log.open("ab")


def _write_client(folder: Path) -> None:
    """The client, compiled beforehand; a shell starts it, because `#!` takes no long paths and none with blanks."""
    compiled, command = folder / "client.pyc", folder / "cfeval"
    py_compile.compile(str(client.__file__), cfile=str(compiled), doraise=True)
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -IS {shlex.quote(str(compiled))} "$@"\n')
    command.chmod(0o700)
