"""Packages that only some settings need."""

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from cfeval.errors import BackendError


class Package(NamedTuple):
    """A package by its import name, the setting that needs it, and what to set instead."""

    name: str
    setting: str
    instead: str


def check_packages(packages: Iterable[Package]) -> None:
    """Check that packages are installed.

    Raises:
        BackendError: the first that is not.
    """
    for name, setting, instead in packages:
        if find_spec(name) is None:
            raise BackendError(f"{setting} needs the package '{name.replace('_', '-')}'; install it, or set {instead}")


def file_in(package: str, file: str) -> Path:
    """A file of an installed package, which is not imported.

    Raises:
        BackendError: the package or the file is not there.
    """
    found, called = find_spec(package), package.replace("_", "-")
    if found is None or not found.submodule_search_locations:
        raise BackendError(f"the package '{called}', which carries weights, is not installed; install it")
    path = Path(found.submodule_search_locations[0]) / file
    if not path.is_file():
        raise BackendError(f"the package '{called}' has no file {file}; install another version of it")
    return path
