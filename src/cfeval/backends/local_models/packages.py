"""Packages that only some settings need."""

from collections.abc import Iterable
from importlib.util import find_spec
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
