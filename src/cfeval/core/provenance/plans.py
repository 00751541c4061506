"""What a job would be made from now: computed alike where a run is planned, in the job itself, and at the seal."""

import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cfeval.core.package import name_of as carried_name
from cfeval.core.provenance.hashes import Hashes, digest, read_json, write_json
from cfeval.core.provenance.jobs import Job
from cfeval.core.provenance.sources import PACKAGE, ROOT, Sources

MEMORY = Path(".cfeval")
"""Where this machine keeps what it would otherwise work out again; it can be removed at any time."""
Plan = dict[str, Any]


class Planner:
    """Plans of jobs; code and packages are looked up once.

    Args:
        memory: the folder that keeps hashes for the next process; None: nothing is kept.
        loaded: the bytes of the modules that this process has executed, by path.
    """

    def __init__(self, memory: Path | None = MEMORY, loaded: Mapping[str, bytes] | None = None) -> None:
        self.hashes = Hashes(memory / "hashes.json" if memory else None)
        self.sources = Sources(memory / "sources.json" if memory else None, self.hashes, loaded)
        self._packages = memory / "packages.json" if memory else None

    def plan(self, job: Job) -> Plan:
        """What the job would be made from now."""
        closures = {name: self.sources.closure(root) for name, root in job.code.items()}
        packages = frozenset(package for closure in closures.values() for package in closure.packages)
        return {
            "stage": job.stage,
            "command": [named(word) if word in job.files else word for word in job.command],
            "code": {name: closure.code for name, closure in sorted(closures.items())},
            "files": {named(file): self.hashes.path(file) for file in sorted(job.files)},
            "versions": versions(packages, self._packages),
        }

    def modules(self, job: Job) -> set[str]:
        """The project's modules that a job may run."""
        return {module for root in job.code.values() for module in self.sources.closure(root).modules}

    def remember(self) -> None:
        """Keep what was hashed and parsed for the next process."""
        self.sources.remember()
        self.hashes.remember()


def plan_hash(plan: Plan) -> str:
    """A name for a plan: equal for equal plans."""
    return digest(json.dumps(plan, sort_keys=True).encode())[:16]


def named(file: str) -> str:
    """What a plan calls a file: one that comes with cfeval by its place there, wherever that is installed."""
    path = Path(file).absolute()
    if brought := carried_name(path):
        return brought
    package = f"{(ROOT / PACKAGE).as_posix()}/"
    return f"{PACKAGE}:{path.as_posix().removeprefix(package)}" if path.as_posix().startswith(package) else file


@cache
def versions(packages: frozenset[str], memory: Path | None = None) -> dict[str, str]:
    """The installed versions of the distributions behind some packages, and Python's (its first two numbers).

    What no distribution has, as a module of the user's on the path, counts by its bytes.
    """
    foreign = packages - sys.stdlib_module_names
    behind = _distributions(memory)
    found = {name: version for package in foreign for name, version in behind.get(package, {}).items()}
    found |= {package: sha for package in foreign - behind.keys() if (sha := _own_module(package))}
    python = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    return python | dict(sorted(found.items()))


def _own_module(package: str) -> str:
    """The hash of the code of a module or package; empty where there is none."""
    try:
        origin = getattr(find_spec(package), "origin", None)
    except (ImportError, ValueError):
        return ""
    if not origin or not os.path.isfile(origin):
        return ""
    whole = os.path.basename(origin) == "__init__.py"
    files = sorted(Path(origin).parent.rglob("*.py")) if whole else [Path(origin)]
    return digest(b"".join(file.read_bytes() for file in files))[:16]


@cache
def _distributions(memory: Path | None) -> dict[str, dict[str, str]]:
    """The distributions of each importable package with their versions.

    Looking takes half a second, so what was found is remembered until a folder of packages changes: its time, or the
    names of distributions in it, which hold their versions. A study that is copied with such a folder keeps its memory.
    """
    folders = [(place, _distributions_in(place)) for place in dict.fromkeys(sys.path)]
    places = [[os.stat(place).st_mtime_ns, *names] for place, names in folders if names]
    state = digest(json.dumps([sys.prefix, places]).encode())
    known = read_json(memory) if memory else {}
    if known.get("state") == state:
        return dict(known["distributions"])
    every = metadata.packages_distributions().items()
    found = {package: {name: metadata.version(name) for name in names} for package, names in every}
    if memory:
        write_json(memory, {"state": state, "distributions": found})
    return found


def _distributions_in(place: str) -> list[str]:
    """The names of the folders in which distributions say what they are."""
    names = os.listdir(place) if os.path.isdir(place) else []
    return sorted(name for name in names if name.endswith((".dist-info", ".egg-info")))
