"""The code that a function runs: its definition, and every definition of the project that it names, directly or not.

Nothing is executed or imported. A name that stands for a module as a whole (and not for something in it) takes in all
of the module, and so does a root without a name. Module names are left out of what is hashed, so that moving a file
costs nothing; which definition a name means is not. What was found is remembered by the hashes of the files.

A plugin of another distribution counts with every file of its top-level package or module, byte by byte, with all of
the project that one of its definitions names, and with the versions of the packages that these import.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cfeval.core.provenance import definitions, outside
from cfeval.core.provenance.definitions import EFFECTS, Definition, Module, parsed
from cfeval.core.provenance.hashes import Hashes, digest, read_json, write_json

PACKAGE = "cfeval"
ROOT = Path(__file__).resolve().parents[3]
"""The folder that the package lies in."""
_ALL = "*"


@dataclass(frozen=True)
class Closure:
    """What a root rests on: one hash of all its code, the project's modules, and the packages of others."""

    code: str
    modules: tuple[str, ...]
    packages: tuple[str, ...]


class Sources:
    """The project's modules as they are on disk now, or as this process has loaded them.

    Args:
        memory: the file that keeps what was parsed for the next process; empty: nothing is kept.
        loaded: the bytes of modules that were executed, by path; they count in the place of those on disk.
    """

    def __init__(self, memory: Path | None, hashes: Hashes, loaded: Mapping[str, bytes] | None = None) -> None:
        self.hashes = hashes
        self.loaded = loaded if loaded is not None else {}
        self._memory = memory
        self._modules: dict[str, Module | None] = {}
        self._closures: dict[str, Closure] = {}
        self._changed = False

    def closure(self, root: str) -> Closure:
        """What a root rests on: a `module:name`, or a module with all its definitions; or a plugin of others.

        Raises:
            ModuleNotFoundError: there is no such module.
        """
        if not is_own(root):
            return self._foreign(root.partition(":")[0])
        if root not in self._closures:
            known = self._remembered["closures"].get(root)
            sound = known is not None and all(module in self._unchanged for module in known[1])
            self._closures[root] = Closure(*map(_as_tuple, known)) if sound else self._walk(root)
        return self._closures[root]

    def sha256(self, module: str) -> str | None:
        """The hash of a module's file; None where the project has no such module."""
        path = path_of(module)
        if path is None:
            return None
        return digest(self.loaded[path]) if path in self.loaded else self.hashes.file(path)

    def remember(self) -> None:
        """Keep what was found for the next process; a memory that cannot be written is done without."""
        if self._memory is None or not self._changed:
            return
        old = {r: of for r, of in self._remembered["closures"].items() if all(m in self._unchanged for m in of[1])}
        closures = old | {root: (of.code, of.modules, of.packages) for root, of in self._closures.items()}
        modules = sorted({module for _, its, _ in closures.values() for module in its})
        shas = {module: self.sha256(module) for module in modules}
        write_json(self._memory, {"made by": _own_hash(), "modules": shas, "closures": closures})

    @cached_property
    def _remembered(self) -> dict[str, Any]:
        found = read_json(self._memory) if self._memory else {}
        return found if found.get("made by") == _own_hash() else {"modules": {}, "closures": {}}

    @cached_property
    def _unchanged(self) -> set[str]:
        """The remembered modules whose files are those of then."""
        return {module for module, sha in self._remembered["modules"].items() if self.sha256(module) == sha}

    def _walk(self, root: str) -> Closure:
        self._changed = True
        module, _, name = root.partition(":")
        if self._module(module) is None:
            raise ModuleNotFoundError(f"no module {module} under {ROOT}", name=module)
        walk = _Walk(self)
        walk.reach(module, name or _ALL)
        return walk.closure()

    def _foreign(self, module: str) -> Closure:
        """What a plugin of another distribution rests on; it is small, and nothing of it is remembered."""
        walk, parts, modules = _Walk(self), [], set()
        for path, relative, name in _files_of(module.partition(".")[0]):
            content = self.loaded[path] if path in self.loaded else Path(path).read_bytes()
            parts.append(f"{relative} {digest(content)}")
            if name:
                modules.add(name)
                walk.use(parsed(content, name, path), name)
        if module not in modules:
            raise ModuleNotFoundError(f"no module {module}", name=module)
        of = walk.closure()
        code = digest("\n".join([*parts, of.code]).encode())[:16]
        return Closure(code, tuple(sorted({*of.modules, *modules})), of.packages)

    def _module(self, name: str) -> Module | None:
        if name not in self._modules:
            path = path_of(name)
            if path is None:
                self._modules[name] = None
            else:
                content = self.loaded[path] if path in self.loaded else Path(path).read_bytes()
                self._modules[name] = parsed(content, name, path)
        return self._modules[name]


class _Walk:
    """One walk along the names, from a root."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.seen: dict[tuple[str, str], str] = {}
        self.modules: set[str] = set()
        self.packages: set[str] = set()

    def reach(self, module: str, name: str) -> None:
        """Take in a definition, or all of a module, and everything that it names."""
        waiting = [(module, name)]
        while waiting:
            at = waiting.pop()
            if at in self.seen or outside.is_outside(at[0]):
                continue
            waiting += self._take(*at)

    def use(self, its: Module, name: str) -> None:
        """Take in what the definitions of a module of others name."""
        self.packages.add(name.partition(".")[0])
        for definition in its.definitions.values():
            for use in definition.uses:
                target = self._meaning(name, its, definition, use)
                if isinstance(target, tuple) and is_own(target[0]):
                    self.reach(*target)

    def closure(self) -> Closure:
        """All that was taken in."""
        code = digest("\n".join(sorted({entry for entry in self.seen.values() if entry})).encode())[:16]
        return Closure(code, tuple(sorted(self.modules)), tuple(sorted(self.packages)))

    def _take(self, module: str, name: str) -> list[tuple[str, str]]:
        self.seen[module, name] = ""
        its = self.sources._module(module)
        if its is None:
            return []
        self.modules.add(module)
        found = [(parent, EFFECTS) for parent in (*_parents(module), module)]
        if name == _ALL:
            return found + [(module, one) for one in its.definitions]
        definition = its.definitions.get(name)
        if definition is None:
            return found
        meant = {use: self._meaning(module, its, definition, use) for use in definition.uses}
        described = [f"{use}={self._described(target)}" for use, target in sorted(meant.items()) if target]
        self.seen[module, name] = f"{definition.tree} {' '.join(described)}"
        return found + [target for target in meant.values() if isinstance(target, tuple)]

    def _meaning(self, module: str, its: Module, by: Definition, use: str) -> tuple[str, str] | str | None:
        """What a dotted name means: a definition of the project, a name of another package, or nothing of interest."""
        first, _, rest = use.partition(".")
        if first in by.imports:
            return self._found(_joined(by.imports[first], rest))
        if first in its.definitions:
            return (module, first)
        if first in its.imports:
            return self._found(_joined(its.imports[first], rest))
        return None

    def _found(self, dotted: str) -> tuple[str, str] | str | None:
        if dotted.partition(".")[0] != PACKAGE:
            self.packages.add(dotted.partition(".")[0])
            return dotted
        module, rest = _split(dotted)
        if not rest:
            return (module, _ALL)
        name, _, further = rest.partition(".")
        its = None if outside.is_outside(module) else self.sources._module(module)
        if its is not None:
            self.modules.add(module)
        if its is not None and name not in its.definitions and name in its.imports:  # it hands on what it imports
            return self._found(_joined(its.imports[name], further))
        return (module, name)

    def _described(self, target: tuple[str, str] | str) -> str:
        """A target without the names of modules: the tree of a definition, or what another package calls it."""
        if isinstance(target, str):
            return target
        its = None if outside.is_outside(target[0]) else self.sources._module(target[0])
        definition = its.definitions.get(target[1]) if its else None
        return definition.tree if definition else target[1]


def is_own(root: str) -> bool:
    """Whether a root or module is the project's."""
    return root.partition(":")[0].partition(".")[0] == PACKAGE


def _files_of(package: str) -> Iterable[tuple[str, str, str]]:
    """The files of a package or module of others: path, path within it, dotted name; data have none.

    Raises:
        ModuleNotFoundError: there is none.
    """
    spec = find_spec(package)
    if spec is None:
        raise ModuleNotFoundError(f"no module {package}", name=package)
    if spec.submodule_search_locations is None:
        return [(str(spec.origin), f"{package}.py", package)]
    found = []
    for folder in map(Path, spec.submodule_search_locations):
        for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            relative = file.relative_to(folder)
            dotted = ".".join([package, *relative.with_suffix("").parts]).removesuffix(".__init__")
            found.append((str(file), relative.as_posix(), dotted if file.suffix == ".py" else ""))
    return found


def path_of(module: str) -> str | None:
    """Where a module lies; None where there is none."""
    path = os.path.join(ROOT, *module.split("."))
    return next(filter(os.path.isfile, (f"{path}.py", os.path.join(path, "__init__.py"))), None)


def _split(dotted: str) -> tuple[str, str]:
    """The longest module of the project that a dotted name begins with, and the rest."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        if path_of(".".join(parts[:n])):
            return ".".join(parts[:n]), ".".join(parts[n:])
    return dotted, ""


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _parents(module: str) -> Iterator[str]:
    parts = module.split(".")
    return (".".join(parts[:n]) for n in range(1, len(parts)))


def _joined(one: str, other: str) -> str:
    return f"{one}.{other}" if other else one


def _own_hash() -> str:
    """What tells one version of this module from another: a memory of another counts for nothing.

    A memory that was copied with its study counts: the modules that it names are compared by their hashes.
    """
    own = (Path(__file__), Path(definitions.__file__), Path(outside.__file__))
    return digest(b"".join(file.read_bytes() for file in own))
