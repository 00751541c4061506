"""What a process really executes: the bytes of every module of the project as it is loaded.

`record` must run before the modules are imported. No .pyc counts from then on: it may have been compiled from another
file of the same size and time.
"""

import functools
import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import FileFinder, ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

from cfeval.core.provenance.sources import PACKAGE, ROOT

loaded: dict[str, bytes] = {}
"""The bytes of the modules that were executed, by path."""
named: set[str] = set()
"""Modules of the project, and of packages that are watched, that were imported by a name that is made while a job runs
(`importlib.import_module`)."""
_watched: set[str] = set()
"""Packages of others whose modules count like the project's: plugins."""


class _Loader(SourceFileLoader):
    """Executes the bytes that it read and keeps them."""

    def get_code(self, fullname: str) -> Any:
        """The code of the file's bytes."""
        path = self.get_filename(fullname)
        loaded[path] = self.get_data(path)
        return self.source_to_code(loaded[path], path)


class _Foreign(MetaPathFinder):
    """Finds the modules of the packages that are watched, and lets them be loaded like the project's."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's place, where it is one of theirs."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname.partition(".")[0] in _watched else None
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(fullname, spec.loader.path)
        return spec


def watch(module: str) -> None:
    """Let a plugin's module count like the project's, and all of the package that it belongs to."""
    _watched.add(module.partition(".")[0])


@functools.cache
def record() -> None:
    """Keep the bytes of the project's modules that are loaded from now on, and names that are imported as texts."""
    hook = FileFinder.path_hook((_Loader, [".py"]))
    package = ROOT / PACKAGE
    folders = {str(path.parent) for path in package.rglob("*.py")}
    sys.path_importer_cache.update({folder: hook(folder) for folder in folders})
    importlib.import_module = _noting(importlib.import_module)
    sys.meta_path.insert(0, _Foreign())


def _noting(import_module: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
    @functools.wraps(import_module)
    def noting(name: str, package: str | None = None) -> ModuleType:
        if name.startswith(f"{PACKAGE}.") or name.partition(".")[0] in _watched:
            named.add(name)
        return import_module(name, package)

    return noting
