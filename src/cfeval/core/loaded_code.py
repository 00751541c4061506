"""The code that runs in this process: which modules, what of them can change a result, and which packages they import.

`cfeval.core.record` keeps it beside every output. No record names a module of `OUTSIDE`: an edit of it makes nothing
anew. Whoever adds a line there claims that equal inputs give equal outputs whatever that code says;
tests/core/test_outside.py runs steps with such code changed and compares bytes.
"""

import ast
import functools
import json
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cfeval.core.errors import InputError
from cfeval.core.hashes import MEMORY, digest, read_json, write_json

# Modules of which no record speaks.
OUTSIDE = (
    "cfeval.cli",
    "cfeval.verbs",  # which function a command is; the record has the command
    "cfeval.core.errors",  # how a run ends that gives no result
    "cfeval.core.extras",  # what to install; imports by name, and the record has what was imported
    "cfeval.core.hashes",
    "cfeval.core.loaded_code",
    "cfeval.core.locks",  # which GPU a process takes
    "cfeval.core.process",  # keys, signals
    "cfeval.core.progress",
    "cfeval.core.record",
    "cfeval.inference.remote.batches",  # transport of calls: batches, cache, retries, limits, prices
    "cfeval.inference.remote.cache",
    "cfeval.inference.remote.cache_db",
    "cfeval.inference.remote.client",
    "cfeval.inference.remote.http",
    "cfeval.inference.remote.prices",
    "cfeval.inference.remote.rate_limit",
    "cfeval.inference.remote.sdks",
    "cfeval.inference.remote.sessions",
    "cfeval.inference.remote.settings",
    "cfeval.inference.remote.spending",
)
# Options of steps that say how something is computed, and not what: no record names them.
COMPUTE_OPTIONS = ("--batch", "--compute", "--offline")
# Arguments of calls that only say what something means.
HELP_ARGUMENTS = {"help", "description", "title", "rich_help_panel"}


# When this process began; a module whose file changed later may not be the one that runs.
BEGAN = time.time_ns()
_OWN = "cfeval"
# What a whole line of the memory of code ends with.
_END = " ."


class Code:
    """What of a module can change a result: its syntax tree without docstrings and help texts; and what it imports."""

    def __init__(self) -> None:
        self._file = MEMORY / "code"
        lines = self._file.read_text("utf-8").splitlines() if self._file.exists() else []
        self._stored = {line.split(" ")[0]: line.split(" ")[1:-1] for line in lines if line.endswith(_END)}

    def essence(self, file: Path) -> list[str]:
        """The hash, then the names of the packages that it imports."""
        content = file.read_bytes()
        sha = f"{digest(content)}.{sys.version_info.minor}"
        if sha not in self._stored:
            tree, names = ast.parse(content), set[str]()
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    names |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    names.add((node.module or "").partition(".")[0])
                elif isinstance(node, ast.Call):
                    node.keywords = [word for word in node.keywords if word.arg not in HELP_ARGUMENTS]
                if isinstance(body := getattr(node, "body", None), list):
                    node.body = [statement for statement in body if not _is_text(statement)]  # type: ignore[attr-defined]
            self._stored[sha] = [digest(ast.dump(tree).encode())[:16], *sorted(names - {_OWN})]
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as stream:  # other processes do the same
                stream.write(f"{sha} {' '.join(self._stored[sha])}{_END}\n")
        return self._stored[sha]


def path_of(module: str) -> str | None:
    """The file of a module, found without importing any; None where there is none."""
    top, *rest = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None or (not rest and spec.origin):
        return spec.origin if spec else None
    places = [Path(folder, *rest) for folder in spec.submodule_search_locations or ()]
    files = (file for place in places for file in (Path(f"{place}.py"), place / "__init__.py"))
    return next((str(file) for file in files if file.is_file()), None)


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of the distributions behind packages, by distribution, and Python's.

    What no distribution has, as a module of the user's own, counts by its bytes.
    """
    foreign = set(packages) - sys.stdlib_module_names - _ours()
    behind = _distributions()
    installed = {name: version for package in foreign for name, version in behind.get(package, {}).items()}
    alone = {f"module {package}" for package in foreign - behind.keys()}
    installed |= {name: sha for name in alone if (sha := version_of(name))}
    return {"python": version_of("python") or "", **dict(sorted(installed.items()))}


@functools.cache
def version_of(name: str) -> str | None:
    """The version of a distribution, of `python`, or the hash of `module NAME`; None where there is none."""
    if name == "python":
        return f"{sys.version_info.major}.{sys.version_info.minor}"
    if name.startswith("module "):
        file = path_of(name.removeprefix("module "))
        return digest(Path(file).read_bytes())[:16] if file and Path(file).is_file() else None
    return _installed().get(name)


def loaded_modules() -> Iterator[tuple[str, str]]:
    """The modules of the project and of plug-in packages that this process has loaded, each with its file.

    Raises:
        InputError: one was changed since this process began, so that nobody knows which of both it runs.
    """
    ours = _ours()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if name.partition(".")[0] not in ours or not file.endswith(".py") or name in OUTSIDE:
            continue
        if Path(file).stat().st_ctime_ns > BEGAN:
            raise InputError(f"{file} changed while it ran; start again")
        if bytecode := _bytecode_of_former_text(module, file):
            bytecode.unlink()
            raise InputError(f"{file} changed twice within a second, and its former text ran; start again")
        yield name, file


def _bytecode_of_former_text(module: Any, file: str) -> Path | None:
    """The bytecode of a module if it is older than the source, though Python takes it for the source's.

    Python compares the size and the time in whole seconds alone, so that a second edit within a second goes unnoticed.
    """
    bytecode, source = Path(getattr(module, "__cached__", None) or ""), Path(file).stat()
    if not bytecode.is_file() or bytecode.stat().st_mtime_ns >= source.st_mtime_ns:
        return None
    with bytecode.open("rb") as stream:
        header = stream.read(16)
    times = struct.pack("<III", 0, int(source.st_mtime) & 0xFFFFFFFF, source.st_size & 0xFFFFFFFF)  # PEP 552
    return bytecode if header[4:] == times else None


@functools.cache
def _ours() -> frozenset[str]:
    """The top packages of the project and of all plug-ins that are installed."""
    offering = (
        distribution
        for distribution in metadata.distributions()
        if "[cfeval." in (distribution.read_text("entry_points.txt") or "")
    )
    points = (
        point for distribution in offering for point in distribution.entry_points if point.group.startswith("cfeval.")
    )
    return frozenset({_OWN, *(point.module.partition(".")[0] for point in points)})


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@functools.cache
def _installed() -> dict[str, str]:
    return {name: version for distributions in _distributions().values() for name, version in distributions.items()}


@functools.cache
def _distributions() -> dict[str, dict[str, str]]:
    """The distributions of each importable package with their versions.

    Looking takes half a second, so what was found is remembered until a folder of packages changes: its time, or the
    names of distributions in it, which hold their versions.
    """
    folders = [(place, _distributions_in(place)) for place in dict.fromkeys(sys.path)]
    places = [[Path(place).stat().st_mtime_ns, *names] for place, names in folders if names]
    state, memory = digest(json.dumps([sys.prefix, places]).encode()), MEMORY / "packages.json"
    stored = read_json(memory)
    if stored.get("state") == state:
        return dict(stored["distributions"])
    every = metadata.packages_distributions().items()
    distributions = {package: {name: metadata.version(name) for name in names} for package, names in every}
    write_json(memory, {"state": state, "distributions": distributions})
    return distributions


def _distributions_in(place: str) -> list[str]:
    """The names of the folders in which distributions say what they are."""
    entries = Path(place).iterdir() if Path(place).is_dir() else ()
    return sorted(path.name for path in entries if path.name.endswith((".dist-info", ".egg-info")))
