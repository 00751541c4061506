"""Which files of the user's a process opens, so that none is read that the plan does not name."""

import os
import sys
import sysconfig
import tempfile
from collections.abc import Collection
from functools import cache
from pathlib import Path

from cfeval.core.provenance.plans import MEMORY
from cfeval.core.provenance.sources import PACKAGE, ROOT

OUTSIDE = (str(ROOT / PACKAGE / "inference" / "remote" / "prices.yaml"),)
"""Files of the package on which no result rests."""
COPIES = ".snakemake/storage"
"""Where Snakemake puts its copies of what a storage provider keeps."""
_METADATA = ".dist-info/"
"""In the path of what an installed package says of itself."""
_opened: set[str] = set()


@cache
def watch() -> None:
    """Note every file that Python opens for reading from now on. C libraries open files unseen: those are hashed."""
    sys.addaudithook(_note)


def unnamed(allowed: Collection[str]) -> list[str]:
    """The files read below the working folder, or elsewhere where data lie, that are not among those allowed.

    What is allowed are files, and folders whose names end with a slash.
    """
    here = os.getcwd()
    files = {os.path.abspath(path) for path in allowed if not path.endswith("/")}
    folders = tuple(f"{os.path.abspath(path)}/" for path in allowed if path.endswith("/"))
    seen = {os.path.abspath(path) for path in _opened}
    copies, systems = f"{os.path.abspath(COPIES)}/", (*_systems(), *_packages())
    found = {
        path
        for path in seen
        if path not in files and not path.startswith(folders) and _is_data(path)
        if path.startswith(copies) or not (path.startswith(systems) or _METADATA in path)
    }
    found |= {path for path in seen if path not in files and _is_package_data(path)}
    return sorted(os.path.relpath(path, here) if path.startswith(f"{here}/") else path for path in found)


def _note(event: str, args: tuple[object, ...]) -> None:
    if event == "open" and not isinstance(args[0], int) and not (int(str(args[2] or 0)) & (os.O_WRONLY | os.O_RDWR)):
        _opened.add(os.fsdecode(args[0]))  # type: ignore[arg-type]


def _is_data(path: str) -> bool:
    """Whether a path is a file, and none that is only being written."""
    return not path.endswith(".part") and ".part/" not in path and os.path.isfile(path)


def _is_package_data(path: str) -> bool:
    """Whether a path is a file of this package that is no code: prompts, pages, weights."""
    inside = path.startswith(f"{ROOT / PACKAGE}/") and not path.startswith(OUTSIDE)
    return inside and not path.endswith((".py", ".pyc")) and os.path.isfile(path)


@cache
def _systems() -> tuple[str, ...]:
    """Folders of the system, of Python, of caches and of this project's code: what is there is software, not data."""
    python = {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix, sys.exec_prefix}
    system = {"/proc", "/sys", "/dev", "/etc", "/usr", "/lib", "/lib64", "/opt", "/run", "/var", "/bin", "/snap"}
    caches = {os.environ.get("XDG_CACHE_HOME", "~/.cache"), os.environ.get("XDG_CONFIG_HOME", "~/.config")}
    hubs = {os.environ[name] for name in ("HF_HOME", "TORCH_HOME", "MPLCONFIGDIR") if name in os.environ}
    own = {str(ROOT), str(MEMORY.absolute()), str(Path(".snakemake").absolute()), str(Path("logs").absolute())}
    others = {path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")}
    every = {*python, *others, *map(os.path.realpath, others), *system, *caches, *hubs, *own, *_temporary()}
    return tuple(f"{os.path.abspath(os.path.expanduser(folder))}/" for folder in every)


def _packages() -> set[str]:
    """Where imported packages and modules lie, wherever they are installed: plans name their versions."""
    found: set[str] = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and "." not in name:
            whole = hasattr(module, "__path__")
            found |= {f"{os.path.dirname(file)}/"} if whole else {file, getattr(module, "__cached__", None) or file}
    return found


def _temporary() -> set[str]:
    """The folder for temporary files, unless the study itself lies in it."""
    folder = os.path.realpath(tempfile.gettempdir())
    return set() if os.getcwd().startswith(f"{folder}/") else {folder}
