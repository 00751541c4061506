"""Checkpoints of guided-diffusion: a file of weights, read without running what it may hold."""

import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cfeval.errors import BackendError

if TYPE_CHECKING:
    from torch import Tensor


def about(path: str) -> str:
    """What can be said about a file of weights without reading it.

    Raises:
        BackendError: there is none.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise BackendError(f"no weights '{file.name}' where 'path' says; check the path")
    return f"weights '{file.name}' are there"


def read_weights(path: Path) -> "dict[str, Tensor]":
    """The weights in a file made by torch.save, in float32.

    Raises:
        BackendError: there is no such file, or it holds anything but weights.
    """
    import torch

    about(str(path))
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, EOFError, OSError, RuntimeError, ValueError) as error:
        raise BackendError(
            f"'{path.name}' is cut short or holds more than weights; give the .pt as published"
        ) from error
    if not isinstance(found, dict) or not all(isinstance(value, torch.Tensor) for value in found.values()):
        raise BackendError(f"'{path.name}' is no state dict (names and weights); give the .pt as published")
    return {str(name): value.float() if value.is_floating_point() else value for name, value in found.items()}


def misfit(found: "Mapping[str, Tensor]", wanted: "Mapping[str, Tensor]") -> str:
    """Where weights do not fit an architecture: how many of them and the first, or empty."""
    faults = [f"{name} is missing" for name in _beyond(wanted, found)]
    faults += [f"{name} has no place" for name in _beyond(found, wanted)]
    faults += [
        f"{name} is {_shape(value)}, not {_shape(wanted[name])}"
        for name, value in found.items()
        if name in wanted and value.shape != wanted[name].shape
    ]
    return f"{faults[0]}; {len(faults)} such weights" if faults else ""


def _beyond(some: Iterable[str], others: "Mapping[str, Tensor]") -> list[str]:
    return [name for name in some if name not in others]


def _shape(value: "Tensor") -> str:
    return "×".join(map(str, value.shape)) or "a number"
