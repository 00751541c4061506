"""Finds and loads the shipped weights."""

from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from cfeval.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor


def models_dir() -> Path:
    """The folder of the weights: `data/models` of a checkout, else the copy inside the installed package."""
    for parent in Path(__file__).resolve().parents:
        if (parent / "data" / "models").is_dir() and (parent / "pyproject.toml").is_file():
            return parent / "data" / "models"
    return Path(str(resources.files("cfeval.world"))) / "models"


@lru_cache(maxsize=16)
def load(name: str) -> "dict[str, Tensor]":
    """The half-precision weights of one network by name.

    Raises:
        InputError: they are not there.
    """
    from safetensors.torch import load_file

    path = models_dir() / f"{name}.safetensors"
    if not path.is_file():
        raise InputError(f"the weights {name}.safetensors are missing; restore data/models or train them again")
    return load_file(path)
