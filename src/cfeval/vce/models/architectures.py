"""Architectures of torchvision and timm by name: networks with or without trained weights, and their preprocessing."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfeval.core.errors import PluginError, nearest
from cfeval.inference.local import hub
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.libraries import Package, check_packages, first_line
from cfeval.vce.models.classifier import Library, Preprocessing

if TYPE_CHECKING:
    from torch.nn import Module

NONE = "none"
"""In place of the name of trained weights: random ones."""
_FILE = "model.safetensors"
_INTERPOLATIONS = ("bilinear", "bicubic")


def check_name(library: Library, name: str) -> None:
    """Check that a library has an architecture; timm's are also known by the tags of trained weights (name.tag).

    Raises:
        PluginError: it has not, or is not installed.
    """
    if library == "timm":
        timm = _timm()
        names: Sequence[str] = [*timm.list_models(), *timm.list_pretrained()]
    else:
        from torchvision import models

        names = list(models.list_models(module=models))
    if name not in names:
        raise PluginError(f"{library} has no classifier '{name}'; {nearest(name, names)}")


def untrained(library: Library, name: str, classes: int, seed: int = 0) -> "tuple[Module, Preprocessing]":
    """A network with random weights that the seed draws, and the preprocessing that the library declares for it.

    Raises:
        PluginError: no such architecture, or none that can have so many classes.
    """
    import warnings

    import torch

    check_name(library, name)
    network: Module
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if library == "timm":
            network = _timm().create_model(name, pretrained=False, num_classes=classes)
            return network, timm_preprocessing(network)
        from torchvision import models

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of two architectures, about how they draw their weights
            network = models.get_model(name, weights=None, num_classes=classes)
        return network, torchvision_preprocessing(models.get_model_weights(name).DEFAULT)


def torchvision_weights(name: str, entry: str) -> Any:
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


def torchvision_preprocessing(weights: Any) -> Preprocessing:
    """What the library declares for weights."""
    declared = weights.transforms()
    return Preprocessing(
        size=declared.crop_size[0],
        resize=declared.resize_size[0],
        interpolation=declared.interpolation.value,
        mean=tuple(declared.mean),
        std=tuple(declared.std),
    )


def torchvision_file(weights: Any) -> Path:
    """Where the file of weights lies once it has been downloaded."""
    import torch

    return Path(torch.hub.get_dir()) / "checkpoints" / Path(weights.url).name


def torchvision_trained(name: str, weights: Any) -> "Module":
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
        raise PluginError(_torchvision_fault(name, weights, error)) from error
    return network


def _torchvision_fault(name: str, weights: Any, error: Exception) -> str:
    file = torchvision_file(weights)
    if file.is_file():
        return f"weights of '{name}': {file.name} in torch's cache is broken ({first_line(error)}); delete it there"
    return (
        f"weights of '{name}': {file.name} is not in torch's cache and cannot be downloaded ({first_line(error)}); "
        "put it into the folder checkpoints below TORCH_HOME/hub, or set weights: none for random ones"
    )


def timm_preprocessing(network: Any) -> Preprocessing:
    """What timm declares for a network."""
    declared = _timm().data.resolve_model_data_config(network)
    _, height, width = declared["input_size"]
    size = min(height, width)
    kind = declared["interpolation"]
    return Preprocessing(
        size=size,
        resize=int(size / declared["crop_pct"]),
        interpolation=kind if kind in _INTERPOLATIONS else "bicubic",
        mean=tuple(declared["mean"]),
        std=tuple(declared["std"]),
    )


def timm_source(name: str) -> tuple[str, str]:
    """Where the trained weights of a name are: the model on the hub, and the file in it.

    Raises:
        PluginError: there are none.
    """
    declared = _timm().get_pretrained_cfg(name)
    if declared is None or not declared.hf_hub_id:
        raise PluginError(f"timm has no trained weights for '{name}' on the hub; set weights: none, or use state_dict")
    return declared.hf_hub_id, declared.hf_hub_filename or _FILE


def timm_class_count(name: str) -> int | None:
    """How many classes the trained weights of a name tell apart; None where timm does not say."""
    declared = _timm().get_pretrained_cfg(name)
    return declared.num_classes if declared else None


def timm_folder(name: str) -> Path | None:
    """The folder of the trained weights in the hub's cache; None where they are not there."""
    model, file = timm_source(name)
    return hub.cached(model, "", hub.file(file))


def timm_trained(name: str) -> "Module":
    """A network with trained weights, fetched from the hub where they are not here yet.

    Raises:
        PluginError: they cannot be had, or are broken.
    """
    model, file = timm_source(name)
    weights = hub.fetched(model, "", hub.file(file)) / file
    try:
        network: Module = _timm().create_model(name, pretrained=True, pretrained_cfg_overlay={"file": str(weights)})
    except Exception as error:  # whatever timm and safetensors let through
        if out_of_memory(error):
            raise
        raise PluginError(
            f"weights of '{name}': {file} of '{model}' in the hub's cache is broken ({first_line(error)}); "
            "delete it there"
        ) from error
    return network


def _timm() -> Any:
    """The library; PluginError where it is not installed."""
    check_packages([Package("timm", "a network of timm", "one of torchvision")])
    return import_module("timm")
