"""Weight files of torch (.pth), read without running anything that is in them."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

from cfeval.backends.local_models.lines import first_line
from cfeval.errors import BackendError

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


def in_package(package: str, file: str) -> Path:
    """A file of an installed package, which is not imported.

    Raises:
        BackendError: the package or the file is not there.
    """
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise BackendError(f"needs the package '{package.replace('_', '-')}', which is not installed; install it")
    path = Path(found.submodule_search_locations[0]) / file
    if not path.is_file():
        raise BackendError(
            f"the package '{package.replace('_', '-')}' has no file {file}; install another version of it"
        )
    return path


def read(path: Path, inside: str = "") -> "dict[str, Tensor]":
    """The tensors of a file by name; of a file of several things those under the key `inside`, where it is there.

    Raises:
        BackendError: no such file, not one of tensors, or cut short.
    """
    import torch

    try:
        found: Any = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise BackendError(f"{path}: no such weight file") from None
    except (OSError, EOFError, RuntimeError, UnpicklingError, ValueError, KeyError) as error:
        raise BackendError(f"{path}: not a weight file of torch, or cut short ({first_line(error)})") from error
    if isinstance(found, Mapping) and isinstance(found.get(inside), Mapping):
        found = found[inside]
    if not isinstance(found, Mapping) or not all(isinstance(value, torch.Tensor) for value in found.values()):
        raise BackendError(f"{path}: not a file of weights by name; save the network's state_dict()")
    return dict(found)


def fit(network: "Module", state: "Mapping[str, Tensor]", path: Path) -> None:
    """Give a network its weights, freeze it, and put it in evaluation mode.

    Raises:
        BackendError: a weight is missing, of another shape, or one too many.
    """
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        fault = next((line.strip() for line in str(error).splitlines()[1:]), first_line(error))
        raise BackendError(f"{path}: weights of another network ({fault[:160]})") from None
    network.eval().requires_grad_(False)
