"""What the parent imports, and whether it may still fork.

It begins with the modules of the verbs that the run's jobs call, which takes as long as one command takes to start.
What a job may use besides, by its plan, is imported before the first job that may, where another one may too; the rest
the parent learns from the jobs: what two of them have loaded is imported here.
"""

import atexit
import gc
import logging
import multiprocessing.util
import os
import sys
import weakref
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from cfeval.core.provenance.plans import Plan
from cfeval.verbs import VERBS

LATE = {
    *("diffusers", "safetensors.torch", "timm", "torch", "torchvision", "transformers"),
    *("scipy.ndimage", "scipy.optimize", "scipy.special", "scipy.stats"),
    *("anthropic", "anyio", "google.genai", "httpcore2", "openai"),
}
"""Libraries that functions of the project import. statsmodels is left out: pandas, with pyarrow, starts a thread."""
_THREADS = Path("/proc/self/task")
_FILES = Path("/proc/self/fd")
_MAPS = Path("/proc/self/maps")


def verbs(commands: Iterable[Sequence[str]] | None = None) -> list[str]:
    """The modules of the command line and of its verbs: those that the commands of some jobs call; without any, all."""
    if commands is None:
        named = [dotted for of in VERBS.values() for dotted in of.values()]
    else:
        called = dict.fromkeys((study, stage) for study, stage, *_ in commands)
        named = [VERBS[""]["stage"], *(VERBS[f"stage {study}"][stage] for study, stage in called)]
    return ["cfeval.cli", *dict.fromkeys(dotted.partition(":")[0] for dotted in named)]


def loaded() -> set[str]:
    """Those modules of this process that are worth importing once for all jobs."""
    return {name for name in sys.modules.copy() if _is_worth(name)}


def _is_worth(module: str) -> bool:
    """Whether it is the project's or one of the libraries: what else a plugin has, its jobs import themselves."""
    return module in LATE or module.startswith("cfeval.")


def shared(imports: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Of what each job may use, by its name, the modules that another one may use too."""
    of_jobs = {job: set(filter(_is_worth, modules)) for job, modules in imports.items()}
    users = Counter(module for modules in of_jobs.values() for module in modules)
    return {job: sorted(module for module in modules if users[module] > 1) for job, modules in of_jobs.items()}


def libraries(plan: Plan) -> set[str]:
    """Those libraries that a job may use."""
    return {name for name in plan["versions"] if name in LATE}


def load(module: str) -> None:
    """Import a module; where that fails, it fails again in the command that wants it, and is told there."""
    try:
        import_module(module)
    except Exception as error:
        print(f"{module} was not imported: {error!r}", file=sys.stderr, flush=True)


def settle() -> None:
    """After imports: keep forks from copying what was made, and from undoing it when they leave.

    The collector would write to every object; and at exit torch takes back each operation that it has registered, which
    takes longer than most commands. What a command itself leaves to be done at exit is done.
    """
    gc.freeze()
    atexit._clear()
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        finalizer.atexit = False
    atexit.register(weakref.finalize._exitfunc)  # type: ignore[attr-defined]
    atexit.register(logging.shutdown)
    atexit.register(multiprocessing.util._exit_function)  # type: ignore[attr-defined]


def why_not_fork() -> str | None:
    """Why forks of this process could hang or fail; None where they cannot.

    A fork has one thread, whatever locks the others held. And a GPU's driver, once started, refuses to work in a fork;
    torch's import on a machine with a GPU only loads it, that of diffusers asks it for GPUs.
    """
    if (count := len(list(_THREADS.iterdir()))) > 1:
        return f"imports have started {count - 1} threads"
    return "imports have started the driver of the GPU" if _has_started_driver() else None


def _has_started_driver() -> bool:
    """Whether a GPU's driver is there and started: its device is open, or torch says in a fork that it would refuse.

    Without a driver torch may refuse too, once it was asked for GPUs; there is nothing then that a fork could want.
    """
    if "libcuda.so" not in _MAPS.read_text():
        return False
    for file in _FILES.iterdir():
        with suppress(FileNotFoundError):  # the folder, which is listed
            if str(file.readlink()).startswith("/dev/nvidia"):
                return True
    refuses = getattr(getattr(sys.modules.get("torch"), "_C", None), "_cuda_isInBadFork", None)
    if refuses is None:
        return False
    fork = os.fork()
    if fork == 0:
        os._exit(bool(refuses()))
    return os.waitpid(fork, 0)[1] != 0
