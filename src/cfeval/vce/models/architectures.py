"""Architectures by name, from torchvision or timm: a network without trained weights, and its preprocessing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cfeval.core.errors import PluginError, nearest
from cfeval.vce.models import timm_models, torchvision_models
from cfeval.vce.models.classifier import Library, Preprocessing

if TYPE_CHECKING:
    from torch.nn import Module

LIBRARIES = {"torchvision": torchvision_models, "timm": timm_models}


def check_name(library: Library, name: str) -> None:
    """Check that a library has an architecture.

    Raises:
        PluginError: it has not, or is not installed.
    """
    names: Sequence[str] = LIBRARIES[library].names()
    if name in names:
        return
    raise PluginError(f"{library} has no classifier '{name}'; {nearest(name, names)}")


def untrained(library: Library, name: str, classes: int, seed: int = 0) -> "tuple[Module, Preprocessing]":
    """A network with random weights that the seed draws, and the preprocessing that the library declares for it.

    Raises:
        PluginError: no such architecture, or none that can have so many classes.
    """
    import torch

    check_name(library, name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made: tuple[Module, Preprocessing] = LIBRARIES[library].untrained(name, classes)
        return made
