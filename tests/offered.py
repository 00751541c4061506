"""The module of a plugin, as its entry point names it."""

from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType


def offered(family: str, name: str) -> ModuleType:
    [point] = entry_points(group=f"cfeval.{family}", name=name)
    return import_module(point.module)
