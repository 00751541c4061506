"""timm's classifiers; their trained weights come from the Hugging Face hub."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfeval.core.errors import PluginError
from cfeval.inference.local import hub
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.libraries import Package, check_packages, first_line
from cfeval.vce.models.classifier import Preprocessing

if TYPE_CHECKING:
    from torch.nn import Module

_FILE = "model.safetensors"
_INTERPOLATIONS = ("bilinear", "bicubic")


def names() -> Sequence[str]:
    """The architectures that there are, alone and with the tags of their trained weights (name.tag)."""
    timm = _timm()
    return [*timm.list_models(), *timm.list_pretrained()]


def untrained(name: str, classes: int) -> "tuple[Module, Preprocessing]":
    """A network with random weights, and the preprocessing that timm declares for it."""
    network: Module = _timm().create_model(name, pretrained=False, num_classes=classes)
    return network, preprocessing(network)


def preprocessing(network: Any) -> Preprocessing:
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


def source(name: str) -> tuple[str, str]:
    """Where the trained weights of a name are: the model on the hub, and the file in it.

    Raises:
        PluginError: there are none.
    """
    declared = _timm().get_pretrained_cfg(name)
    if declared is None or not declared.hf_hub_id:
        raise PluginError(f"timm has no trained weights for '{name}' on the hub; set weights: none, or use state_dict")
    return declared.hf_hub_id, declared.hf_hub_filename or _FILE


def class_count(name: str) -> int | None:
    """How many classes the trained weights of a name tell apart; None where timm does not say."""
    declared = _timm().get_pretrained_cfg(name)
    return declared.num_classes if declared else None


def cached(name: str) -> Path | None:
    """The folder of the trained weights in the hub's cache; None where they are not there."""
    model, file = source(name)
    return hub.cached(model, "", hub.file(file))


def trained(name: str) -> "Module":
    """A network with trained weights, fetched from the hub where they are not here yet.

    Raises:
        PluginError: they cannot be had, or are broken.
    """
    model, file = source(name)
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
