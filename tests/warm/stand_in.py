"""Preloaded by the parents of these tests: verbs that show, wait and crash beside the real ones."""

import atexit
import json
import os
import random
import signal
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

from cfeval import cli

real = cli.run
kept: list[tempfile.TemporaryDirectory[str]] = []


def show(*_: str) -> int:
    """Print what this process has of its client."""
    mask = os.umask(0)
    print(
        json.dumps(
            {
                "pid": os.getpid(),
                "folder": str(Path.cwd()),
                "environment": dict(os.environ),
                "mask": mask,
                "arguments": sys.argv,
                "read": sys.stdin.read(),
                "random": random.random(),
                "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
                "child": signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL,
                "open": len(list(Path("/proc/self/fd").iterdir())),
            }
        )
    )
    print("told", file=sys.stderr)
    return 0


def wait(file: str) -> int:
    """Write the process id to a file and wait; on Ctrl-C cache something, as a stage does with calls in flight."""
    try:
        Path(file).write_text(str(os.getpid()))
        while True:
            time.sleep(60)
    except KeyboardInterrupt:
        Path(file).with_suffix(".stored").write_text("stored")
        return 3


def crash(how: str) -> int:
    """End other than by returning."""
    if how == "raise":
        raise RuntimeError("broken")
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "exit":
        os._exit(7)
    os.kill(os.getpid(), int(how))
    return 0


def was_loaded(module: str) -> int:
    """Print whether the parent had a module, and load it."""
    print(module in sys.modules)
    import_module(module)
    return 0


def leave() -> int:
    """Leave things to be done at exit."""
    kept.append(tempfile.TemporaryDirectory())
    atexit.register(print, "registered")
    print(kept[-1].name)
    return 0


def parent() -> int:
    """Print how many threads the parent has, and whether it has opened a GPU or torch would refuse one in a fork."""
    torch, of = sys.modules["torch"], Path(f"/proc/{os.getppid()}")
    threads, files = len(list((of / "task").iterdir())), (str(file.readlink()) for file in (of / "fd").iterdir())
    opened = any(file.startswith("/dev/nvidia") for file in files)
    print(json.dumps([threads, opened, torch.cuda.is_initialized() or torch._C._cuda_isInBadFork()]))
    return 0


def run(arguments: list[str]) -> int:
    """A verb of this module's, or a real one."""
    verbs = {"leave": leave, "show": show, "wait": wait, "crash": crash, "was-loaded": was_loaded, "parent": parent}
    verb = verbs.get(arguments[0])
    return verb(*arguments[1:]) if verb else real(arguments)


cli.run = run
