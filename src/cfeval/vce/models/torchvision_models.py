"""torchvision's classifiers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfeval.core.errors import PluginError, nearest
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.libraries import first_line
from cfeval.vce.models.classifier import Preprocessing

if TYPE_CHECKING:
    from torch.nn import Module

NONE = "none"
"""In place of the name of trained weights: random ones."""


def names() -> Sequence[str]:
    """The architectures that there are."""
    from torchvision import models

    return list(models.list_models(module=models))


def untrained(name: str, classes: int) -> "tuple[Module, Preprocessing]":
    """A network with random weights, and the preprocessing of the library's own weights for it."""
    import warnings

    from torchvision import models

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of two architectures, about how they draw their weights
        network: Module = models.get_model(name, weights=None, num_classes=classes)
    return network, preprocessing(models.get_model_weights(name).DEFAULT)


def weights_of(name: str, entry: str) -> Any:
    """The library's trained weights for an architecture: the entry of that name, or if it is empty the default one.

    Raises:
        PluginError: there is no such entry, or it names no classes, as of weights for features alone.
    """
    from torchvision import models

    entries = models.get_model_weights(name)
    if not entry:
        return entries.DEFAULT
    classify = [name for name in entries.__members__ if entries[name].meta.get("categories")]
    if entry in classify:
        return entries[entry]
    if entry in entries.__members__:
        raise PluginError(
            f"torchvision's weights '{entry}' for '{name}' are of features and name no classes; "
            f"take {' or '.join(classify)}"
        )
    raise PluginError(f"torchvision has no weights '{entry}' for '{name}'; {nearest(entry, [*classify, NONE])}")


def preprocessing(weights: Any) -> Preprocessing:
    """What the library declares for weights."""
    declared = weights.transforms()
    return Preprocessing(
        size=declared.crop_size[0],
        resize=declared.resize_size[0],
        interpolation=declared.interpolation.value,
        mean=tuple(declared.mean),
        std=tuple(declared.std),
    )


def cached(weights: Any) -> Path:
    """Where the file of weights lies once it has been downloaded."""
    import torch

    return Path(torch.hub.get_dir()) / "checkpoints" / Path(weights.url).name


def trained(name: str, weights: Any) -> "Module":
    """A network with trained weights, downloaded where they are not here yet.

    Raises:
        PluginError: they cannot be had, or are broken.
    """
    from torchvision import models

    try:
        network: Module = models.get_model(name, weights=weights, progress=False)
    except Exception as error:  # of the network, of the file system, of unpickling: whatever torch.hub lets through
        if out_of_memory(error):
            raise
        raise PluginError(_fault(name, weights, error)) from error
    return network


def _fault(name: str, weights: Any, error: Exception) -> str:
    file = cached(weights)
    if file.is_file():
        return f"weights of '{name}': {file.name} in torch's cache is broken ({first_line(error)}); delete it there"
    return (
        f"weights of '{name}': {file.name} is not in torch's cache and cannot be downloaded ({first_line(error)}); "
        "put it into the folder checkpoints below TORCH_HOME/hub, or set weights: none for random ones"
    )
